import { readFileSync } from 'node:fs';
import { Comment, Converter, JSX, ReflectionKind } from 'typedoc';

/**
 * What the reference shows of the library: no members under symbols, which are
 * its own, and one text for what has several names.
 */
export function load(app) {
  // A table that is wider than a phone scrolls by itself.
  app.renderer.hooks.on('head.end', () => JSX.createElement('style', null, '.tsd-typography table { display: block; overflow-x: auto; }'));
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const all = () => project.getReflectionsByKind(ReflectionKind.All);
    for (const reflection of all()) {
      if (reflection.name.startsWith('[')) project.removeReflection(reflection);
    }
    for (const page of project.documents ?? []) page.name = headingOf(page.content[0]?.text ?? '') ?? page.name;
    const order = namesInReadme();
    const place = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length);
    for (const list of [project.documents, project.childrenIncludingDocuments]) list?.sort((one, other) => place(one) - place(other));
    for (const module of project.getReflectionsByKind(ReflectionKind.Module)) module.name = 'waypost';
    const byName = new Map(all().map((reflection) => [reflection.getFullName(), reflection]));
    for (const reflection of all()) {
      const name = reflection.getFullName();
      if (reflection.kindOf(ReflectionKind.Accessor) && reflection.setSignature !== undefined) reflection.setSignature.comment ??= reflection.getSignature?.comment?.clone();
      if (reflection.comment === undefined && sourceOf(name) !== name) reflection.comment = commentOf(byName.get(sourceOf(name)))?.clone() ?? aliasComment(name);
    }
    // The parts of a type that is written in place, but for a parameter (`res`), whose parts need none; the type itself has to be described.
    const parts = all().filter((one) => one.kindOf(PART) && !one.hasComment()).map((one) => one.getFriendlyFullName());
    app.options.setValue('intentionallyNotDocumented', [...new Set(parts.filter((name) => /^(?:waypost\.)?\w+\.__type\.(?:(?!res\b)\w+\.__type\.)?(?!__type)\w+$/.test(name)))]);
  });
}

/** A page goes by its heading, not by its file. */
function headingOf(markdown) {
  return /^# (.+)$/m.exec(markdown)?.[1];
}

/** The pages stand in the order in which README leads to them last, in its table. */
function namesInReadme() {
  const links = [...readFileSync('README.md', 'utf8').matchAll(/\]\(([\w/-]+\.md)/g)].map(([, file]) => file);
  return [...new Set(links.reverse())].reverse().map((file) => headingOf(readFileSync(file, 'utf8')));
}

const PART = ReflectionKind.Property | ReflectionKind.CallSignature;

/** The name under which the same thing is described: `express.json` is `json`, a verb of a route that of an application. */
function sourceOf(name) {
  return name.replace(/^(waypost\.)?express\.(?=\w+$)/, '$1').replace(/^(waypost\.)?Route\.(?=[\w-]+$)/, '$1Application.');
}

/** The comment of a reflection, or of what it is called by. */
function commentOf(reflection) {
  return reflection?.comment ?? reflection?.signatures?.[0]?.comment ?? reflection?.type?.declaration?.signatures?.[0]?.comment;
}

/** For the names that Express has besides. */
function aliasComment(name) {
  const [, alias] = /^(?:waypost\.)?express\.(\w+)$/.exec(name) ?? [];
  return alias === undefined ? undefined : new Comment([{ kind: 'text', text: `What Express has as \`express.${alias}\`.` }]);
}
