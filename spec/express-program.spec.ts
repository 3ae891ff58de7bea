import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { read, ROOT } from './support/document';
import { Folder } from './support/folder';
import { typeErrors } from './support/program-types';

const FILE = 'spec/types/programs/express-program.ts';
const PROGRAM = read(FILE);

const BOTH = ['express', 'waypost/express'];

function compiled(code: string): string[] {
  return typeErrors([{ code, name: 'the program', language: 'ts', exchanges: [], printed: [] }]);
}

/** It, with nothing changed but where it imports Express from. */
function program(from: string): string {
  return PROGRAM.replace('\'express\'', `'${from}'`);
}

describe('a program written for Express in strict TypeScript', () => {
  test('is of some length, and imports Express once', () => {
    expect(PROGRAM.split('\n').length).toBeGreaterThan(300);
    expect(PROGRAM.match(/'express'/g)).toHaveLength(1);
  });

  test.each(BOTH)('compiles by the types of %s, with @types/passport, multer, express-session and others beside them', (from) => {
    expect(compiled(program(from))).toEqual([]);
  });

  test('with mistakes in it, each of them is found by waypost\'s types', () => {
    const mistakes: [right: string, wrong: string, message: RegExp][] = [
      ['res.json(note ?? { error', 'res.json(note ?? { problem', /'problem' does not exist/],
      ['req.user.role', 'req.user.roll', /'roll' does not exist/],
      ['req.session.returnTo ??', 'req.session.returnToo ??', /'returnToo' does not exist/],
      ['file.originalname)', 'file.originalNames)', /'originalNames' does not exist/],
      ['res.locals.theme = req', 'res.locals.thema = req', /'thema' does not exist/],
      ['text: req.body.text, tags', 'text: req.body.txt, tags', /'txt' does not exist/],
      ['controller.show(req, res)', 'controller.show(res, req)', /Response.*is not assignable to.*Request/],
      ['app.use(onError)', 'app.use(7)', /Argument of type 'number' is not assignable|No overload matches/],
      ['app.locals.title = ', 'app.local.title = ', /'local' does not exist/],
    ];
    let wrong = program('waypost/express');
    for (const [was, is] of mistakes) {
      expect(wrong).toContain(was);
      wrong = wrong.replace(was, is);
    }
    const errors = compiled(wrong).join('\n');
    for (const [, , message] of mistakes) expect(errors).toMatch(message);
  });
});

describe('what middleware adds is typed, without the types of any package', () => {
  const uses = (...lines: string[]): string => `
    import { express, type Request, type Response } from 'waypost';
    express().get('/', (req, res) => {
      ${lines.join('\n')}
    });
    export function named(req: Request, res: Response): void {
      ${lines.join('\n')}
    }
  `;
  const DECLARED = ['const tenant: string = req.tenant;', 'const name: string | undefined = req.user?.name;', 'res.flush();', 'res.json([tenant, name]);', '// @ts-expect-error -- it is a string', 'const other: number = req.tenant;', 'res.json(other);'];

  test('where it is declared in the namespace Express', () => {
    const added = 'declare global { namespace Express { interface Request { tenant: string } interface Response { flush(): void } interface Locals { by: string } interface User { name: string } } }';
    expect(compiled(added + uses(...DECLARED, 'const by: string = res.locals.by;', 'res.json([by, req.app.locals.by]);'))).toEqual([]);
  });

  test('where it is declared on waypost\'s interfaces', () => {
    const added = 'declare module \'waypost\' { interface Request { tenant: string; user?: { name: string } } interface Response { flush(): void } }';
    expect(compiled(added + uses(...DECLARED))).toEqual([]);
  });

  test('and not where it is not; unknown values are unknown', () => {
    const wrong = ['req.tenant', 'res.flush()', 'req.user.name', 'req.body.text', 'req.query.page.length', 'res.locals.user.name', 'req.cookies.theme'];
    const right = ['req.user = { name: \'ada\' };', 'const user: unknown = req.user;', 'const theme: unknown = req.cookies?.theme;', 'res.json([user, theme]);'];
    expect(compiled(uses(...right, ...wrong.flatMap((line) => ['// @ts-expect-error -- nobody knows', `${line};`])))).toEqual([]);
  });
});

test.each(BOTH)('values that nobody knows go unchecked by the import of %s', (from) => {
  expect(compiled(`
    import express from '${from}';
    express().post('/:id', (req, res) => { res.json([req.body.text, req.query.page?.length, res.locals.user.name, req.cookies.theme, req.app.get('x').y]); });
  `)).toEqual([]);
});

describe('the types of waypost/express are Express\'s own', () => {
  test('one and the same, so that either is taken for the other', () => {
    expect(compiled(`
      import theirs from 'express';
      import ours, { type Request, type Response } from 'waypost/express';
      export const there: [(given: theirs.Request) => Request, (given: theirs.Response) => Response, (given: theirs.Express) => ours.Express] = [(given) => given, (given) => given, (given) => given];
      export const back: [(given: Request) => theirs.Request, (given: Response) => theirs.Response, (given: ours.Express) => theirs.Express] = [(given) => given, (given) => given, (given) => given];
      export const same: typeof theirs = ours;
    `)).toEqual([]);
  });

  test('with what waypost adds', () => {
    expect(compiled(`
      import express from 'waypost/express';
      import { createServer, Router, type Logger } from 'waypost';
      await using app = express({ logging: { requestId: true } }).fallback((req, res) => void res.end(req.url));
      app.get('/:id', (req, res) => {
        const [raw, key, id, log]: [Buffer | undefined, string | undefined, string | undefined, Logger | undefined] = [req.rawBody, req.signatureKeyId, req.id, req.log];
        res.xJson({ raw, key, id, log, params: req.params.id }, { enableStreaming: true });
        // @ts-expect-error -- the path has no such parameter
        return req.params.other;
      });
      app.get('/stream', (req, res) => void res.stream(req));
      app.get('/file', (_req, res) => res.sendFile('/a', { followSymlinks: true }));
      app.use('/inner', Router(), createServer());
      createServer().use('/inner', express.Router(), express(), express.json(), express.static('.'));
      await app.start(0, () => app.log.info(String(app.server?.listening)));
      console.log((await app.inject('/7')).statusCode);
      await app.close({ timeout: 1 });
      // @ts-expect-error -- there is no such option
      express({ port: 3000 });
    `)).toEqual([]);
  });

  test('so that what a program declares on Express\'s is heard, in either way, in the place of what waypost adds', () => {
    expect(compiled(`
      import express, { type Request, type RequestHandler } from 'waypost/express';
      declare module 'express-serve-static-core' { interface Request { tenant?: string } interface Response { flushed?: boolean } }
      declare global { namespace Express { interface Request { account?: { name: string }; rawBody?: Buffer; signatureKeyId?: number } interface Response { xJson(): 'theirs' } } }
      const handler: RequestHandler = (req, res) => {
        const [tenant, account, key]: [string | undefined, string | undefined, number | undefined] = [req.tenant, req.account?.name, req.signatureKeyId];
        const own: 'theirs' = res.xJson();
        res.flushed = [tenant, account, key, own, req.rawBody].length > 0;
      };
      export const name = (req: Request): string | undefined => req.tenant;
      express().get('/', handler);
    `)).toEqual([]);
  });

  test('in the order of Express\'s overloads: a function that takes those of the last fits', () => {
    expect(compiled(`
      import { type Response } from 'waypost/express';
      const set = (field: string, value?: string | string[]): void => void [field, value];
      export const [one, other]: [(...given: Parameters<Response['set']>) => void, (...given: Parameters<Response['header']>) => void] = [set, set];
    `)).toEqual([]);
  });
});

test('waypost/express is Express by its exports: as a module\'s default, by name, and as what require returns', () => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('it runs on the build: npm run build (npm test does so)');
  const folder = new Folder();
  mkdirSync(join(folder.path, 'node_modules'));
  for (const name of ['express', '@types']) symlinkSync(join(ROOT, 'node_modules', name), join(folder.path, 'node_modules', name));
  symlinkSync(ROOT, join(folder.path, 'node_modules/waypost'));
  const shown = (from: string): string[] => {
    folder.add('module.mjs', `import made, { Route, Router, application, json, raw, request, response, static as files, text, urlencoded } from '${from}';
      console.log(typeof made, [Route, Router, application, json, raw, request, response, files, text, urlencoded].map((each) => typeof each).join(), made.Router === Router, typeof made().get);`);
    folder.add('script.cjs', `const made = require('${from}'); const { Router, json } = made;
      console.log(typeof made, [Router, json].map((each) => typeof each).join(), typeof made().get);`);
    return ['module.mjs', 'script.cjs'].map((file) => execFileSync(process.execPath, [join(folder.path, file)], { encoding: 'utf8' }));
  };
  expect(shown('waypost/express')).toEqual(shown('express'));
  folder.close();
});
