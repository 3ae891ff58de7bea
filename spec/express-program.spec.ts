import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { read, ROOT } from './support/document';
import { Folder } from './support/folder';
import { typeErrors } from './support/program-types';

const FILE = 'spec/types/programs/express-program.ts';
const PROGRAM = read(FILE);

const BOTH = ['express'];

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
      ['req.user.role', 'req.user.roll', /'roll' does not exist/],
      ['req.session.returnTo ??', 'req.session.returnToo ??', /'returnToo' does not exist/],
      ['file.originalname)', 'file.originalNames)', /'originalNames' does not exist/],
      ['res.locals.theme = req', 'res.locals.thema = req', /'thema' does not exist/],
      ['text: req.body.text, tags', 'text: req.body.txt, tags', /'txt' does not exist/],
      ['controller.show(req, res)', 'controller.show(res, req)', /Response.*is not assignable to.*Request/],
      ['app.use(onError)', 'app.use(7)', /No overload matches/],
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
  const use = (added: string, used: string): string => `
    import { express, type Request, type Response } from 'waypost';
    ${added}
    const app = express();
    app.get('/', (req, res) => { ${used} });
    export function named(req: Request, res: Response): void { ${used} }
  `;

  test.each([
    ['in the namespace Express', 'declare global { namespace Express { interface Request { tenant: string } interface Response { flush(): void } interface Locals { by: string } } }'],
    ['on waypost\'s interfaces', 'declare module \'waypost\' { interface Request { tenant: string } interface Response { flush(): void } }'],
  ])('%s', (_name, added) => {
    expect(compiled(use(added, 'const tenant: string = req.tenant; res.flush(); res.json(tenant);'))).toEqual([]);
    expect(compiled(use(added, 'const tenant: number = req.tenant; res.json(tenant);')).join()).toMatch(/'string' is not assignable to type 'number'/);
    expect(compiled(use('', 'res.json(req.tenant);')).join()).toMatch(/'tenant' does not exist/);
  });

  test('req.user: unknown, or what is declared of it', () => {
    const asked = 'const name: string | undefined = req.user?.name; res.json(name);';
    expect(compiled(use('', 'req.user = { name: \'ada\' }; const user: unknown = req.user; res.json(user);'))).toEqual([]);
    expect(compiled(use('', asked)).join()).not.toBe('');
    expect(compiled(use('declare global { namespace Express { interface User { name: string } } }', asked))).toEqual([]);
    expect(compiled(use('declare module \'waypost\' { interface Request { user?: { name: string } } }', asked))).toEqual([]);
  });

  test('locals of the namespace Express stand in res.locals', () => {
    const added = 'declare global { namespace Express { interface Locals { by: string } } }';
    expect(compiled(use(added, 'const by: string = res.locals.by; res.json(by);'))).toEqual([]);
  });
});

test('values that nobody knows are unknown by the import of waypost, unchecked by that of waypost/express', () => {
  const reader = (from: string): string => `
    import ${from === 'waypost' ? '{ express }' : 'express'} from '${from}';
    express().post('/:id', (req, res) => { res.json([req.body.text, req.query.page.length, res.locals.user.name]); });
  `;
  expect(compiled(reader('waypost')).join('\n')).toMatch(/'req.body' is of type 'unknown'/);
  expect(compiled(reader('waypost/express'))).toEqual([]);
});

test('waypost/express is Express by its exports: as a module\'s default, by name, and as what require returns', () => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('it runs on the build: npm run build (npm test does so)');
  const folder = new Folder();
  mkdirSync(join(folder.path, 'node_modules'));
  for (const name of ['express', '@types']) symlinkSync(join(ROOT, 'node_modules', name), join(folder.path, 'node_modules', name));
  symlinkSync(ROOT, join(folder.path, 'node_modules/waypost'));
  const shown = (from: string): string[] => {
    folder.add('module.mjs', `import made, { Router, json, raw, static as files, text, urlencoded } from '${from}';
      console.log(typeof made, [Router, json, raw, files, text, urlencoded].map((each) => typeof each).join(), made.Router === Router, typeof made().get);`);
    folder.add('script.cjs', `const made = require('${from}'); const { Router, json } = made;
      console.log(typeof made, [Router, json].map((each) => typeof each).join(), typeof made().get);`);
    return ['module.mjs', 'script.cjs'].map((file) => execFileSync(process.execPath, [join(folder.path, file)], { encoding: 'utf8' }));
  };
  expect(shown('waypost/express')).toEqual(shown('express'));
  folder.close();
});
