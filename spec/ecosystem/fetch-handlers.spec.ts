import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ChildProgram, ROOT } from '../support/child-program';

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('it runs on the build: npm run build (npm test does so)');
});

/** An ES module, since h3 is one. */
const program = (make: string): string => `
  import { Hono } from 'hono';
  import { streamSSE } from 'hono/streaming';
  import { H3, readBody } from 'h3';
  import waypost from './dist/index.js';

  const { ${make} } = waypost;
  const app = ${make}({ logging: { level: 'silent' } });
  ${make === 'express' ? 'app.use(express.json());' : ''}
  const hono = new Hono().basePath('/hono');
  hono.get('/users/:id', (c) => c.json({ id: c.req.param('id'), query: c.req.query('q') }));
  hono.post('/echo', async (c) => { c.header('Set-Cookie', 'a=1', { append: true }); c.header('Set-Cookie', 'b=2', { append: true }); return c.json(await c.req.json(), 201); });
  hono.get('/events', (c) => streamSSE(c, async (stream) => { for (const data of ['one', 'two']) await stream.writeSSE({ data }); }));
  hono.get('/fails', () => { throw new Error('of Hono'); });
  app.mount('/hono', hono);
  const h3 = new H3();
  h3.get('/h3/hello', () => ({ hello: 'h3' }));
  h3.post('/h3/echo', async (event) => ({ got: await readBody(event) }));
  app.mount('/h3', h3);
  app.get('/own', (req, res) => res.json('own'));

  const { port } = (await app.start(0, '127.0.0.1')).address();
  const json = (body) => ({ method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
  const ask = async (path, options) => {
    const response = await fetch('http://127.0.0.1:' + port + path, options);
    return [response.status, await response.text(), response.headers.getSetCookie()];
  };
  const answers = [];
  for (const [path, options] of [
    ['/hono/users/7?q=x'], ['/hono/echo', json({ a: 1 })], ['/hono/events'], ['/hono/none'], ['/hono/fails'], ['/h3/hello'], ['/h3/echo', json({ b: 2 })], ['/own'],
  ]) answers.push(await ask(path, options));
  // Without a socket an application answers them alike.
  const same = await app.fetch(new Request('http://h.test/hono/users/7?q=x'));
  answers.push([same.status, await same.text(), same.headers.getSetCookie()]);
  await app.close();
  console.log(JSON.stringify(answers));
`;

test.each(['createServer', 'express'])('applications of Hono and h3 answer in an application of %s', async (make) => {
  const { output, errors } = await ChildProgram.run(['--input-type=module', '-e', program(make)]);
  expect(output === '' ? errors : JSON.parse(output)).toEqual([
    [200, '{"id":"7","query":"x"}', []], [201, '{"a":1}', ['a=1', 'b=2']], [200, 'data: one\n\ndata: two\n\n', []], [404, '404 Not Found', []], [500, 'Internal Server Error', []],
    [200, expect.stringMatching(/^\{\s*"hello": ?"h3"\s*\}$/), []], [200, expect.stringMatching(/^\{\s*"got": ?\{\s*"b": ?2\s*\}\s*\}$/), []], [200, '"own"', []], [200, '{"id":"7","query":"x"}', []],
  ]);
});

/** A router of tRPC, which its own client calls. */
const services = (make: string): string => `
  import { createTRPCClient, httpBatchLink } from '@trpc/client';
  import { initTRPC } from '@trpc/server';
  import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
  import waypost from './dist/index.js';

  const { ${make} } = waypost;
  const app = ${make}({ logging: { level: 'silent' } });
  ${make === 'express' ? 'app.use(waypost.json());' : ''}
  const { procedure, router: routerOf } = initTRPC.create();
  const router = routerOf({
    greet: procedure.input((given) => given).query(({ input }) => 'hello ' + input.name),
    add: procedure.input((given) => given).mutation(({ input }) => input.a + input.b),
  });
  app.mount('/trpc', (req) => fetchRequestHandler({ endpoint: '/trpc', req, router, createContext: () => ({}) }));
  const { port } = (await app.start(0, '127.0.0.1')).address();
  const client = createTRPCClient({ links: [httpBatchLink({ url: 'http://127.0.0.1:' + port + '/trpc' })] });
  const answers = await Promise.all([client.greet.query({ name: 'Ada' }), client.add.mutate({ a: 1, b: 2 }), client.none.query().catch(({ message }) => message)]);
  console.log(JSON.stringify(answers));
  await app.close();
`;

test.each(['createServer', 'express'])('tRPC answers in an application of %s', async (make) => {
  const { output, errors } = await ChildProgram.run(['--input-type=module', '-e', services(make)]);
  expect(output === '' ? errors : JSON.parse(output)).toEqual(['hello Ada', 3, 'No procedure found on path "none"']);
});
