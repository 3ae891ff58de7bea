import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ChildProgram, ROOT } from '../support/child-program';
import { ExpressOracle, type Visitor } from '../support/express-oracle';
import { MULTIPART, multipart } from '../support/multipart';

const PROGRAM = join(ROOT, 'demo/express-app');
const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
const programs: ChildProgram[] = [];
let oracle: ExpressOracle;

/** What an Express program imports, and what is written in its place. */
const IMPORTS: [string, string][] = [
  ["import express from 'express';", "import { express } from 'waypost';"],
  ["import { Router } from 'express';", "import { Router } from 'waypost';"],
];

/** Copies the program as it was on Express: only its imports differ. */
function copyForExpress(): { changed: string[]; others: string[] } {
  cpSync(PROGRAM, folder, { recursive: true, preserveTimestamps: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const changed: string[] = [];
  const others: string[] = [];
  for (const file of readdirSync(PROGRAM).filter((name) => name.endsWith('.mjs'))) {
    const text = readFileSync(join(PROGRAM, file), 'utf8').split('\n').map((line) => {
      const before = IMPORTS.find(([, after]) => after === line)?.[0];
      if (before !== undefined) changed.push(`${file}: ${line}`);
      else if (/^import .* from '(?:waypost|express)'/.test(line)) others.push(`${file}: ${line}`);
      return before ?? line;
    });
    writeFileSync(join(folder, file), text.join('\n'));
  }
  return { changed, others };
}

const imports = copyForExpress();

beforeAll(async () => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('the program runs on the build: npm run build (npm test does so)');
  programs.push(...await Promise.all([folder, PROGRAM].map((at) => ChildProgram.serve(join(at, 'server.mjs'), { NODE_ENV: 'test' }))));
  const [express, waypost] = programs as [ChildProgram, ChildProgram];
  oracle = ExpressOracle.of({ express: express.port, waypost: waypost.port }, [[/notebook=s%3A[^;]+/, 'notebook=…'], [/^(?:59|60)$/, 'seconds']]);
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  rmSync(folder, { recursive: true });
});

const JSON_ACCEPTED = { accept: 'application/json' };
const HTML_ACCEPTED = { accept: 'text/html' };

function send(visitor: Visitor, method: string, path: string, data?: unknown, headers: Record<string, string> = JSON_ACCEPTED) {
  if (data === undefined) return visitor.ask(path, { method, headers });
  const body = JSON.stringify(data);
  return visitor.ask(path, { method, body, headers: { ...headers, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) } });
}

async function logIn(name: string): Promise<Visitor> {
  const visitor = oracle.visitor();
  await send(visitor, 'POST', '/accounts', { name, password: 'a long password' });
  const { status } = await send(visitor, 'POST', '/accounts/login', { name, password: 'a long password' });
  expect(status).toBe(200);
  return visitor;
}

test('only imports differ from the program on Express', () => {
  expect(imports.others).toEqual([]);
  expect(imports.changed).toEqual([
    "accounts.mjs: import { Router } from 'waypost';", "app.mjs: import { express } from 'waypost';",
    "notes.mjs: import { Router } from 'waypost';", "pictures.mjs: import { Router } from 'waypost';",
  ]);
});

describe('the program answers as on Express:', () => {
  test('pages and files', async () => {
    expect(await oracle.ask('/')).toMatchObject({ status: 200, headers: { 'x-frame-options': 'SAMEORIGIN', 'content-type': 'text/html; charset=utf-8' }, body: expect.stringContaining('Please log in') });
    expect((await oracle.ask('/about')).body).toContain('A notebook');
    const style = await oracle.ask('/public/style.css');
    expect(style).toMatchObject({ status: 200, headers: { 'cache-control': 'public, max-age=3600', 'content-type': 'text/css; charset=utf-8' } });
    expect((await oracle.ask('/public/style.css', { headers: { 'if-none-match': String(style.headers['etag']) } })).status).toBe(304);
    expect((await oracle.ask('/public/about.html', { headers: { range: 'bytes=0-14' } })).body).toBe('<!doctype html>');
    for (const path of ['/public', '/public/../app.mjs', '/public/%2e%2e/app.mjs', '/ABOUT', '/about/', '/none?q=<b>', '/%E0%A4%A']) await oracle.ask(path, { headers: HTML_ACCEPTED });
  });

  test('error pages by what the client takes', async () => {
    expect(await oracle.ask('/none', { headers: JSON_ACCEPTED })).toMatchObject({ status: 404, body: '{"error":"There is nothing at /none"}' });
    expect((await oracle.ask('/none?<b>', { headers: HTML_ACCEPTED })).body).toContain('There is nothing at /none?&lt;b&gt;');
    expect((await oracle.ask('/none', { headers: { accept: 'image/png' } })).body).toBe('There is nothing at /none');
    expect(await oracle.ask('/about', { method: 'DELETE', headers: JSON_ACCEPTED })).toMatchObject({ status: 404 });
  });

  test('accounts: validation, conflict, a session that changes its id at log-in, logout', async () => {
    const eve = oracle.visitor();
    expect(await send(eve, 'POST', '/accounts', { name: 'E', password: 'short' })).toMatchObject({ status: 422, body: expect.stringContaining('"path":"password"') });
    expect(await send(eve, 'POST', '/accounts', { name: 'Eve', password: 'long enough' })).toMatchObject({ status: 201, headers: { location: '/accounts/me' } });
    expect((await send(eve, 'POST', '/accounts', { name: 'eve', password: 'long enough' })).status).toBe(409);
    expect((await send(eve, 'GET', '/accounts/me')).status).toBe(401);
    expect((await send(eve, 'POST', '/accounts/login', { name: 'Eve', password: 'wrong, wrong' })).status).toBe(403);
    expect(await eve.post('/accounts/login', 'name=Eve&password=long+enough')).toMatchObject({ status: 200, body: '{"name":"Eve"}', headers: { 'set-cookie': ['notebook=…; Path=/; HttpOnly; SameSite=Lax'] } });
    const first = eve.jar('waypost').get('notebook');
    expect(await send(eve, 'POST', '/accounts/login', { name: 'Eve', password: 'long enough' }, HTML_ACCEPTED)).toMatchObject({ status: 303, headers: { location: '/notes' } });
    expect(eve.jar('waypost').get('notebook')).not.toBe(first);
    expect((await send(eve, 'GET', '/accounts/me')).body).toBe('{"name":"Eve"}');
    expect((await eve.ask('/')).body).toContain('Hello, Eve');
    expect((await send(eve, 'POST', '/accounts/logout')).status).toBe(204);
    expect((await send(eve, 'GET', '/accounts/me')).status).toBe(401);
  });

  test('notes: made, listed, changed, removed, and only their owner’s', async () => {
    const [ada, bob] = [await logIn('Ada'), await logIn('Bob')];
    expect((await send(oracle.visitor(), 'GET', '/notes')).status).toBe(401);
    expect(await send(ada, 'POST', '/notes', { text: '  Bring a <coat>  ', tags: ['Winter'] })).toMatchObject({ status: 201, headers: { location: expect.stringMatching(/^\/notes\/\d+$/) } });
    const { headers: { location: note } } = await send(ada, 'POST', '/notes', { text: 'Größe' });
    const path = String(note);
    expect(JSON.parse((await send(ada, 'GET', '/notes?word=coat&tag=winter')).body)).toEqual([expect.objectContaining({ text: 'Bring a <coat>', tags: ['winter'] })]);
    expect((await send(ada, 'GET', '/notes', undefined, HTML_ACCEPTED)).body).toContain('Bring a &lt;coat&gt;');
    expect((await send(ada, 'GET', '/notes?page=0')).status).toBe(422);
    expect((await send(ada, 'GET', path, undefined, HTML_ACCEPTED)).body).toContain('<p>Größe</p>');
    expect((await send(bob, 'GET', path)).status).toBe(404);
    expect((await send(bob, 'DELETE', path)).status).toBe(404);
    expect(JSON.parse((await send(ada, 'PUT', path, { text: 'Longer', tags: ['A', 'B'] })).body)).toMatchObject({ text: 'Longer', tags: ['a', 'b'] });
    expect((await send(ada, 'PUT', path, { text: '', tags: 7 })).status).toBe(422);
    expect(await send(ada, 'GET', `${path}/similar`)).toMatchObject({ status: 500, body: '{"error":"Something went wrong"}' });
    expect((await send(ada, 'HEAD', path)).body).toBe('');
    expect((await ada.post(`${path}?_method=DELETE`, '')).status).toBe(204);
    expect((await send(ada, 'GET', path)).status).toBe(404);
  });

  test('bodies that cannot be read', async () => {
    const ada = await logIn('Carol');
    for (const [body, type, status] of [['{"text":', 'application/json', 400], [JSON.stringify({ text: 'x'.repeat(30_000) }), 'application/json', 413], ['"text"', 'application/json', 400], ['<text/>', 'text/xml', 422]] as const) {
      expect((await ada.post('/notes', body, type)).status).toBe(status);
    }
    expect((await ada.post('/notes', 'text=of+a+form&tags[]=X&tags[]=Y')).body).toContain('"tags":["x","y"]');
  });

  test('uploads: several, refused ones, and what is sent back', async () => {
    const ada = await logIn('Dora');
    const { headers: { location: note } } = await send(ada, 'POST', '/notes', { text: 'with pictures' });
    const path = `${String(note)}/pictures`;
    const bytes = Buffer.from(Array.from({ length: 50_000 }, (_, i) => i % 253));
    const upload = (parts: Parameters<typeof multipart>[0]) => {
      const body = multipart(parts);
      return ada.ask(path, { method: 'POST', body, headers: { ...JSON_ACCEPTED, 'content-type': MULTIPART, 'content-length': String(body.length) } });
    };
    const added = await upload([['title', 'A coat'], ['picture', bytes, 'coat.png', 'image/png'], ['picture', 'small', 'b.jpg', 'image/jpeg']]);
    expect(added).toMatchObject({ status: 201, body: expect.stringContaining('"title":"A coat","size":50000') });
    const [{ name }] = JSON.parse(added.body) as [{ name: string }];
    const sent = await ada.ask(`${path}/${name}?save`);
    expect(sent).toMatchObject({ status: 200, headers: { 'content-type': 'image/png', 'content-disposition': 'attachment; filename="A coat"' } });
    expect(Buffer.from(sent.body, 'latin1').equals(bytes)).toBe(true);
    expect(JSON.parse((await send(ada, 'GET', path)).body)).toHaveLength(2);
    expect((await upload([['picture', 'x', 'x.sh', 'text/x-sh']])).status).toBe(415);
    expect(await upload([['picture', Buffer.alloc(100_001), 'x.png', 'image/png']])).toMatchObject({ status: 400, body: '{"error":"File too large"}' });
    expect((await upload([['title', 'nothing']])).status).toBe(400);
    expect((await send(ada, 'GET', `${path}/none.png`)).status).toBe(404);
    expect((await send(oracle.visitor(), 'GET', path)).status).toBe(401);
    expect((await send(ada, 'GET', '/notes/999/pictures')).status).toBe(404);
  });

  test('compressed where it is long', async () => {
    const ada = await logIn('Fay');
    for (let i = 0; i < 12; i++) await send(ada, 'POST', '/notes', { text: `${i} ${'note '.repeat(60)}` });
    const { headers, body } = await send(ada, 'GET', '/notes?page=1', undefined, { ...JSON_ACCEPTED, 'accept-encoding': 'gzip' });
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', 'x-total': '12' });
    expect(JSON.parse(gunzipSync(Buffer.from(body, 'latin1')).toString())).toHaveLength(10);
    expect(JSON.parse((await send(ada, 'GET', '/notes?page=2')).body)).toHaveLength(2);
  });

  test('each client of the proxy by itself, and 429 for one that guesses', async () => {
    const guess = (address: string) => send(oracle.visitor(), 'POST', '/accounts/login', { name: 'Nobody', password: 'guessed it' }, { ...JSON_ACCEPTED, 'x-forwarded-for': address, 'x-forwarded-proto': 'https' });
    for (let i = 0; i < 5; i++) expect((await guess('203.0.113.7')).status).toBe(403);
    expect((await guess('203.0.113.7')).status).toBe(429);
    expect((await guess('203.0.113.8')).status).toBe(403);
  });
});

test('the log has the same lines', async () => {
  const [express, waypost] = (await Promise.all(programs.splice(0).map((program) => program.stop()))).map(({ errors }) => errors.split('\n'));
  expect(waypost).toEqual(express);
  expect(express?.length).toBeGreaterThan(80);
});
