import bodyParser from 'body-parser';
import type { Express } from 'express';
import { buildSchema } from 'graphql';
import { createHandler } from 'graphql-http/lib/use/express';
import { createHandler as createNodeHandler } from 'graphql-http/lib/use/http';
import { answerErrors, ExpressOracle } from '../support/express-oracle';

const schema = buildSchema('type Query { hello(name: String!): String, who: String, fails: Int } type Mutation { add(a: Int!, b: Int!): Int }');
const rootValue = {
  hello: ({ name }: { name: string }) => `Hello, ${name}`,
  who: (_args: unknown, context: { who?: string }) => context.who,
  fails: () => {
    throw new Error('it fails');
  },
  add: ({ a, b }: { a: number; b: number }) => a + b,
};

let oracle: ExpressOracle;

function program(app: Express): void {
  const options = { schema, rootValue, context: (req: { raw: { headers: Record<string, unknown> } }) => ({ who: req.raw.headers['x-who'] }) };
  // Reads the stream, or takes what a parser made of it.
  app.use('/middleware', createHandler(options as never));
  app.all('/route', createHandler(options as never));
  app.all('/parsed', bodyParser.json(), createHandler(options as never));
  const plain = createNodeHandler(options as never);
  app.all('/node', (req, res) => void plain(req, res));
  app.use((_req, res) => void res.status(404).send('none'));
  app.use(answerErrors);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(() => oracle.close());

describe.each(['/middleware', '/route', '/parsed', '/node'])('graphql-http at %s', (path) => {
  const query = (source: string, variables?: object, headers?: Record<string, string>) => oracle.post(path, JSON.stringify({ query: source, variables }), 'application/json', headers);

  test('answers queries by POST and GET, and mutations', async () => {
    expect(await query('query ($n: String!) { hello(name: $n) }', { n: 'Zoë' })).toMatchObject({ status: 200, body: '{"data":{"hello":"Hello, Zoë"}}' });
    expect((await oracle.ask(`${path}?query=${encodeURIComponent('{ hello(name: "x") }')}`)).body).toBe('{"data":{"hello":"Hello, x"}}');
    expect((await query('mutation { add(a: 1, b: 2) }')).body).toBe('{"data":{"add":3}}');
  });

  test('has the request in its context', async () => {
    expect((await query('{ who }', undefined, { 'x-who': 'Ada' })).body).toBe('{"data":{"who":"Ada"}}');
  });

  test('says what is wrong', async () => {
    expect((await query('{ nothing }')).body).toContain('Cannot query field');
    expect((await query('{ fails }')).body).toContain('it fails');
    expect((await oracle.post(path, '{"query":7}')).status).toBe(400);
    expect((await oracle.post(path, 'query', 'text/plain')).status).toBe(415);
    expect(await oracle.ask(path, { method: 'PUT' })).toMatchObject({ status: 405, headers: { allow: 'GET, POST' } });
    expect((await oracle.ask(`${path}?query=${encodeURIComponent('mutation { add(a: 1, b: 2) }')}`)).status).toBe(405);
  });
});
