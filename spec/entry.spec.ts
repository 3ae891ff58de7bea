import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import * as names from '../lib';
import { InstalledPackage } from './support/installed-package';

const installed = new InstalledPackage();

afterAll(() => installed.close());

function run(file: string, text: string): unknown {
  return JSON.parse(execFileSync(process.execPath, [installed.add(file, text)], { encoding: 'utf8' }));
}

const ASK = `
  const app = waypost({ logging: { level: 'silent' } });
  app.get('/:name', (req, res) => res.json({ hello: req.params.name }));
  app.inject('/you').then((answer) => console.log(JSON.stringify([answer.payload, typeof waypost, same, Object.keys(waypost).sort(), Object.keys(all).sort()])));
`;
const EXPORTED = Object.keys(names).sort();

describe('waypost is a function, with all that the package exports on it, as Express is', () => {
  test('as the default of an ES module, beside the names', () => {
    const [payload, kind, same, own, all] = run('module.mjs', `
      import waypost, { createServer, Router, static as files } from 'waypost';
      import * as all from 'waypost';
      import express from 'waypost/express';
      const same = [waypost.createServer === createServer, waypost.Router === Router, waypost.static === files, express.Router === Router, new express.Router() instanceof Router];
      ${ASK}
    `) as unknown[];
    expect([payload, kind, same, own]).toEqual(['{"hello":"you"}', 'function', [true, true, true, true, true], EXPORTED]);
    // What later Nodes add is theirs.
    expect((all as string[]).filter((name) => name !== 'module.exports')).toEqual([...EXPORTED, 'default'].sort());
  });

  test('as what require returns', () => {
    const result = run('script.cjs', `
      const waypost = require('waypost');
      const { createServer, Router } = waypost;
      const all = waypost;
      const same = [waypost.createServer === createServer, typeof Router];
      ${ASK}
    `);
    expect(result).toEqual(['{"hello":"you"}', 'function', [true, 'function'], EXPORTED, EXPORTED]);
  });
});

const TYPED = `
  import waypost, { createServer, express, HttpError, Router, static as files, type Handler, type Request, type Response } from 'waypost';
  import * as all from 'waypost';
  declare module 'waypost' { interface Request { tenant: string } interface Response { flush(): void } }
  const app: waypost.Application = waypost({ etag: true });
  app.get('/:id', (req, res) => {
    const [id, tenant]: [string, string] = [req.params.id, req.tenant];
    res.flush();
    res.json([id, tenant]);
    // @ts-expect-error -- the path has no such parameter
    return req.params.other;
  });
  app.use('/x', Router(), waypost.json(), files('.'), all.raw(), express());
  export const handler: Handler<{ id: string }> = (req: Request<{ id: string }>, res: Response) => { res.json(req.params.id); };
  export class Missing extends HttpError {}
  createServer().use(waypost.Router(), handler);
  // @ts-expect-error -- there is no such option
  waypost({ port: 3000 });
`;

/** What was parsed, by format: the types of Node and of the language are most of each program, and alike in all. */
const parsed = new Map<string, ts.SourceFile | undefined>();

function programOf(files: readonly string[], given: ts.CompilerOptions): ts.Program {
  const options = { target: ts.ScriptTarget.ES2022, strict: true, noEmit: true, skipLibCheck: true, types: ['node'], ...given };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, version, ...rest) => {
    if (!name.includes('/node_modules/')) return getSourceFile.call(host, name, version, ...rest);
    const key = `${String(typeof version === 'object' && version.impliedNodeFormat)} ${name}`;
    if (!parsed.has(key)) parsed.set(key, getSourceFile.call(host, name, version, ...rest));
    return parsed.get(key);
  };
  return ts.createProgram(files, options, host);
}

describe('so its types say', () => {
  const { ModuleKind, ModuleResolutionKind } = ts;
  const modes: [name: string, file: string, options: ts.CompilerOptions][] = [
    ['an ES module by nodenext', 'typed.mts', { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext }],
    ['CommonJS by nodenext', 'typed.cts', { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext }],
    ['what a bundler takes', 'typed.ts', { module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler }],
    ['CommonJS by node10', 'typed.ts', { module: ModuleKind.CommonJS, moduleResolution: ModuleResolutionKind.Node10, esModuleInterop: true, ignoreDeprecations: '6.0' }],
  ];

  const errorsOf = (file: string, text: string, options: ts.CompilerOptions): string[] => {
    const program = programOf([installed.add(file, text)], options);
    return ts.getPreEmitDiagnostics(program, program.getSourceFile(join(installed.path, file))).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  };

  test.each(modes)('to %s', (_, file, options) => {
    expect(errorsOf(file, TYPED, options)).toEqual([]);
  });

  test('and without the interop of default imports the names, and require', () => {
    const text = TYPED.replace('import waypost, { createServer', 'import waypost = require(\'waypost\'); import { createServer');
    expect(errorsOf('plain.ts', text, { module: ModuleKind.CommonJS, moduleResolution: ModuleResolutionKind.Node10, esModuleInterop: false, ignoreDeprecations: '6.0' })).toEqual([]);
  });

  test('values that nobody knows go unchecked by the import of waypost/express', () => {
    const text = 'import express from \'waypost/express\'; express().get(\'/\', (req, res) => { res.json([req.query.filter?.length, req.body.text]); });';
    for (const [, file, options] of [modes[0]!, modes[3]!]) expect(errorsOf(`express-${file}`, text, options)).toEqual([]);
  });

  test('of all names that there are', () => {
    const program = programOf([join(installed.location, 'lib/entry.d.ts'), join(installed.location, 'dist/index.d.ts')], { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext });
    const checker = program.getTypeChecker();
    const [entry, index] = ['lib/entry.d.ts', 'dist/index.d.ts'].map((file) => {
      const module = checker.getSymbolAtLocation(program.getSourceFile(join(installed.location, file)) as ts.SourceFile) as ts.Symbol;
      return checker.getExportsOfModule(module).map(({ name }) => name).filter((name) => name !== 'prototype').sort();
    });
    expect(index?.length).toBeGreaterThan(90);
    expect(entry).toEqual(index);
  });

  test('of all names that Express\'s types have, and validate', () => {
    const files = [join(installed.location, 'lib/express/entry.d.ts'), realpathSync(join(installed.path, 'node_modules/@types/express/index.d.ts'))];
    const program = programOf(files, { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext });
    const checker = program.getTypeChecker();
    const [own, express] = files.map((file) => {
      const module = checker.getSymbolAtLocation(program.getSourceFile(file) as ts.SourceFile) as ts.Symbol;
      return checker.getExportsOfModule(module).map(({ name }) => name).filter((name) => name !== 'prototype').sort();
    });
    expect(express?.length).toBeGreaterThan(25);
    expect(own).toEqual([...express ?? [], 'validate'].sort());
  });
});
