import { readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import ts from 'typescript';
import { read, ROOT, type Example } from './document';

/** One option as its interface declares it. */
export interface DeclaredOption {
  /** Dotted path. */
  readonly option: string;
  readonly type: string;
  readonly takesUndefined: boolean;
  /** What stands behind `@default`, else a dash. */
  readonly fallback: string;
  readonly text: string;
}

/** The files of the library, by their paths from the root. */
export function libraryFiles(): string[] {
  const files = readdirSync(resolve(ROOT, 'lib'), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => file.endsWith('.ts')).map((file) => `lib/${file}`).sort();
}

/** The text of the whole library. */
export function libraryText(): string {
  return libraryFiles().map(read).join('\n');
}

/** What the emitted declarations that the public names lead to import besides one another and Node's modules, as `file: package`. */
export function declarationImports(): string[] {
  // Not checked: that is done by `npm run types`.
  const options = { ...compilerOptions(), types: ['node'], noEmit: false, noCheck: true, declaration: true, emitDeclarationOnly: true };
  const program = ts.createProgram(libraryFiles().map((file) => resolve(ROOT, file)), options, hostOf(options));
  const imports = new Map<string, string[]>();
  program.emit(undefined, (file, text) => {
    imports.set(file, [...text.replace(/\/\*[^]*?\*\//g, '').matchAll(/(?:from|import\() ?['"]([^'"]+)['"]/g)].map(([, name]) => name ?? ''));
  });
  // What no user's compiler comes to may name what it likes.
  const found: string[] = [];
  const reached = new Set([resolve(ROOT, 'lib/index.d.ts')]);
  for (const file of reached) {
    for (const name of imports.get(file) ?? []) {
      if (name.startsWith('.')) reached.add(`${resolve(dirname(file), name)}.d.ts`);
      else if (!name.startsWith('node:')) found.push(`${file.slice(ROOT.length + 1)}: ${name}`);
    }
  }
  return found;
}

/** The options of an interface in a file; those of interfaces that it refers to in the same file under their paths. */
export function optionsOf(file: string, name: string): DeclaredOption[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.ES2022, true);
  const interfaces = new Map<string, ts.InterfaceDeclaration>();
  source.forEachChild((node) => {
    // One with methods is something that does, such as a store, and no group of options.
    if (ts.isInterfaceDeclaration(node) && !node.members.some(ts.isMethodSignature)) interfaces.set(node.name.text, node);
  });
  const found: DeclaredOption[] = [];
  collect(name, '');
  return found;

  function collect(interfaceName: string, prefix: string): void {
    const declaration = interfaces.get(interfaceName);
    if (declaration === undefined) throw new Error(`${file} has no interface ${interfaceName}`);
    for (const parent of declaration.heritageClauses?.flatMap(({ types }) => [...types]) ?? []) collect(parent.expression.getText(), prefix);
    for (const member of declaration.members) {
      if (!ts.isPropertySignature(member) || member.type === undefined) continue;
      const option = prefix + member.name.getText();
      const type = member.type.getText().replace(/readonly /g, '').replace(/ \| undefined/g, '').replace(/^\((\(.*)\)$/, '$1');
      const inner = type.split(' | ').filter((one) => interfaces.has(one));
      if (inner.join(' | ') !== type) found.push({ option, type, takesUndefined: isUndefinedTaken(member), ...documentation(member) });
      for (const one of inner) collect(one, `${option}.`);
    }
  }
}

/** Whether a program with `exactOptionalPropertyTypes` may give undefined for what it leaves out. */
function isUndefinedTaken({ questionToken, type }: ts.PropertySignature): boolean {
  return questionToken === undefined || /(?:^unknown|\| undefined)$/.test(type?.getText() ?? '');
}

function documentation(member: ts.PropertySignature): { fallback: string; text: string } {
  const [doc] = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc);
  const tag = doc?.tags?.find(({ tagName }) => tagName.text === 'default');
  return { fallback: textOf(tag?.comment) || '—', text: textOf(doc?.comment) };
}

function textOf(comment: string | ts.NodeArray<ts.JSDocComment> | undefined): string {
  return (ts.getTextOfJSDocComment(comment) ?? '').replace(/\s+/g, ' ');
}

/** The names that `server.https` takes. */
export function httpsNames(): string[] {
  const [, union = ''] = /type HttpsName =([^;]*);/.exec(libraryText()) ?? [];
  return [...union.matchAll(/'(\w+)'/g)].map(([, name]) => name ?? '');
}

/** What the compiler says of the programs, those in TypeScript under `strict`. */
export function typeErrors(programs: readonly Example[]): string[] {
  const files = new Map(programs.map(({ code, language }, index) => [resolve(ROOT, `spec/program-${index}.m${language}`), code]));
  return (['js', 'ts'] as const).flatMap((language) => {
    const roots = [...files.keys()].filter((name) => name.endsWith(`.m${language}`));
    return roots.length === 0 ? [] : check(roots, files, language === 'ts');
  }).map((text) => text.replace(/program-(\d+)\.m[jt]s/, (_, index: string) => programs[Number(index)]?.name ?? ''));
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(resolve(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as { config: object };
  return ts.parseJsonConfigFileContent(config, ts.sys, ROOT).options;
}

/** What was parsed: the types of Node and of the language are most of each program, and alike in all. */
const parsed = new Map<string, ts.SourceFile | undefined>();

function hostOf(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, ...rest) => {
    if (!parsed.has(name)) parsed.set(name, getSourceFile.call(host, name, ...rest));
    return parsed.get(name);
  };
  return host;
}

function check(roots: readonly string[], files: ReadonlyMap<string, string>, typed: boolean): string[] {
  const options = compilerOptions();
  // A program in JavaScript annotates nothing.
  // The types of jest are none of its, and take long to read.
  Object.assign(options, { types: ['node'], declaration: false, allowJs: true, checkJs: true, noImplicitAny: typed, noUnusedLocals: false, noUnusedParameters: false, noImplicitReturns: false });
  const host = hostOf(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (name) => files.has(name) || fileExists.call(host, name);
  host.readFile = (name) => files.get(name) ?? readFile.call(host, name);
  host.getSourceFile = (name, ...rest) => {
    const text = files.get(name);
    return text === undefined ? getSourceFile.call(host, name, ...rest) : ts.createSourceFile(name, text, rest[0], true);
  };
  const program = ts.createProgram(roots, options, host);
  return roots.flatMap((name) => ts.getPreEmitDiagnostics(program, program.getSourceFile(name)).map((one) => {
    const place = one.file === undefined ? undefined : one.file.getLineAndCharacterOfPosition(one.start ?? 0).line + 1;
    return `${name.slice(ROOT.length + 6)}, program line ${place}: ${ts.flattenDiagnosticMessageText(one.messageText, ' ')}`;
  }));
}
