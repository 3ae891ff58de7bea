import { Comment, Converter, ReflectionKind } from 'typedoc';

/**
 * What the reference shows of the library: no members under symbols, which are
 * its own, and one text for what has several names.
 */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const all = () => project.getReflectionsByKind(ReflectionKind.All);
    for (const reflection of all()) {
      if (reflection.name.startsWith('[')) project.removeReflection(reflection);
    }
    for (const page of project.documents ?? []) nameByHeading(page);
    for (const module of project.getReflectionsByKind(ReflectionKind.Module)) module.name = 'waypost';
    const byName = new Map(all().map((reflection) => [reflection.getFullName(), reflection]));
    for (const reflection of all()) {
      const name = reflection.getFullName();
      if (reflection.kindOf(ReflectionKind.Accessor) && reflection.setSignature !== undefined) reflection.setSignature.comment ??= reflection.getSignature?.comment?.clone();
      if (reflection.comment === undefined && sourceOf(name) !== name) reflection.comment = commentOf(byName.get(sourceOf(name)))?.clone() ?? aliasComment(name);
    }
    // The parts of a type that is written in place; the type itself has to be described.
    const parts = all().filter((one) => one.kindOf(PART) && !one.hasComment()).map((one) => one.getFullName());
    app.options.setValue('intentionallyNotDocumented', [...new Set(parts.filter((name) => /^(?:waypost\.)?\w+\.__type\.(?:\w+\.__type\.)?(?!__type)\w+$/.test(name)))]);
  });
}

/** A page goes by its heading, not by its file. */
function nameByHeading(page) {
  const [, title = page.name] = /^# (.+)\n/.exec(page.content[0]?.text ?? '') ?? [];
  page.name = title;
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
