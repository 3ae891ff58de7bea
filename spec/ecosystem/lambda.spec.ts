import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { configure } from '@codegenie/serverless-express';
import { ServerlessAdapter } from '@h4ad/serverless-adapter';
import { ApiGatewayV1Adapter } from '@h4ad/serverless-adapter/adapters/aws';
import { ExpressFramework } from '@h4ad/serverless-adapter/frameworks/express';
import { DefaultHandler } from '@h4ad/serverless-adapter/handlers/default';
import { PromiseResolver } from '@h4ad/serverless-adapter/resolvers/promise';
import express, { type Express } from 'express';
import serverless from 'serverless-http';
import { express as wayExpress } from 'waypost';
import { Response } from '../../lib/http/response';
import { Running } from '../support/running';
import { ask } from '../support/wire';

const running = new Running();

afterEach(() => running.close());

function program(app: Express): void {
  app.use(express.json());
  app.get('/text', (req, res) => void res.cookie('a', 'b').send(`hello, ${String(req.query['name'])}`));
  app.get('/json', (_req, res) => void res.status(201).json({ a: 1 }));
  app.get('/bytes', (_req, res) => void res.type('png').send(Buffer.from([0, 255, 1])));
  app.get('/redirect', (_req, res) => res.redirect('/text'));
  app.get('/format', (_req, res) => void res.format({ 'text/plain': () => res.send('text'), 'application/json': () => res.json('json') }));
  app.get('/jsonp', (_req, res) => void res.jsonp({ a: 1 }));
  app.get('/end', (_req, res) => void res.end('ended'));
  app.get('/fresh', (req, res) => void res.json({ fresh: req.fresh }));
  app.get('/same', (req, res) => void res.json([res.req === req, req.res === res]));
  app.get('/written', (_req, res) => {
    res.write('one');
    res.end('two');
  });
  app.get('/throw', () => {
    throw Object.assign(new Error('no'), { status: 418 });
  });
  app.post('/body', (req, res) => void res.json(req.body));
  app.use(((error, _req, res, _next) => res.status(error.status).json({ failed: error.message })) as express.ErrorRequestHandler);
}

function event(method: string, path: string, more: { headers?: Record<string, string>; body?: string; query?: Record<string, string> } = {}): object {
  const headers = { host: 'a', ...more.headers };
  const lists = (values: Record<string, string>): object => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value]]));
  return {
    resource: '/{proxy+}', httpMethod: method, path, headers, multiValueHeaders: lists(headers), body: more.body ?? null,
    queryStringParameters: more.query ?? null, multiValueQueryStringParameters: more.query === undefined ? null : lists(more.query),
    isBase64Encoded: false, requestContext: { identity: { sourceIp: '192.0.2.1' } },
  };
}

interface LambdaAnswer {
  statusCode: number;
  headers?: Record<string, unknown>;
  multiValueHeaders?: Record<string, unknown>;
  body: string;
  isBase64Encoded: boolean;
}

type Lambda = (event: object, context: object) => Promise<LambdaAnswer>;

/** Each makes requests and responses of its own, without a socket. */
const ADAPTERS: Readonly<Record<string, (app: Express) => Lambda>> = {
  'serverless-http': (app) => serverless(app as never, { binary: ['image/png'] }) as unknown as Lambda,
  '@codegenie/serverless-express': (app) => {
    const handle = configure({ app: app as never, binarySettings: { contentTypes: ['image/png'] } }) as (...given: unknown[]) => Promise<LambdaAnswer>;
    return (given, context) => handle(given, context, () => undefined);
  },
  '@h4ad/serverless-adapter': (app) => {
    const handle = ServerlessAdapter.new(app).setFramework(new ExpressFramework()).setHandler(new DefaultHandler()).setResolver(new PromiseResolver())
      .setBinarySettings({ contentTypes: ['image/png'], contentEncodings: [] }).addAdapter(new ApiGatewayV1Adapter()).build();
    return (given, context) => handle(given, context, undefined) as Promise<LambdaAnswer>;
  },
};

const EVENTS: readonly [string, object][] = [
  ['a text', event('GET', '/text', { query: { name: 'Ada' } })],
  ['JSON', event('GET', '/json')],
  ['bytes', event('GET', '/bytes')],
  ['a redirect', event('GET', '/redirect', { headers: { accept: 'text/html' } })],
  ['a format', event('GET', '/format', { headers: { accept: 'application/json' } })],
  ['JSONP', event('GET', '/jsonp', { query: { callback: 'f' } })],
  ['an end', event('GET', '/end')],
  ['a fresh copy', event('GET', '/fresh', { headers: { 'if-none-match': 'W/"f-x"' } })],
  ['request and response', event('GET', '/same')],
  ['what is written', event('GET', '/written')],
  ['an error', event('GET', '/throw')],
  ['HEAD', event('HEAD', '/json')],
  ['a body', event('POST', '/body', { headers: { 'content-type': 'application/json', 'content-length': '7' }, body: '{"a":1}' })],
];

/** Without what tells the time or of the connection. */
function lasting(fields: Record<string, unknown> | undefined): object {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name)));
}

describe.each(Object.keys(ADAPTERS))('%s', (name) => {
  const adapt = ADAPTERS[name] as (typeof ADAPTERS)[string];

  test.each(EVENTS)('answers %s as on Express', async (_, given) => {
    const answers: unknown[] = [];
    for (const make of [express, wayExpress as unknown as typeof express]) {
      const app = make();
      app.disable('x-powered-by');
      program(app);
      const { statusCode, headers, multiValueHeaders, body, isBase64Encoded } = await adapt(app)(structuredClone(given), {});
      answers.push({ statusCode, headers: lasting(headers), multiValueHeaders: lasting(multiValueHeaders), body, isBase64Encoded });
    }
    expect(answers[1]).toEqual(answers[0]);
  });

  test('what nothing takes is 404, in its own words', async () => {
    const { statusCode, body } = await adapt(wayExpress() as unknown as Express)(event('GET', '/none'), {});
    expect([statusCode, body]).toEqual([404, JSON.stringify({ error: 'Not Found', message: 'Cannot GET /none' })]);
  });
});

describe('a Response that is used alone, and knows no request', () => {
  const calls: Record<string, (res: Response) => unknown> = {
    send: (res) => res.send('text'),
    json: (res) => res.json({ a: 1 }),
    'json that fails': (res) => res.json(1n),
    jsonp: (res) => res.jsonp({ a: 1 }),
    xJson: (res) => res.xJson({ a: 1 }),
    'xJson that fails': (res) => res.xJson({ get a(): never { throw new Error('no'); } }),
    redirect: (res) => res.redirect('/x'),
    'redirect to what is no text': (res) => res.redirect(undefined as unknown as string),
    format: (res) => res.format({ text: (_req, self) => self.send('text'), json: (_req, self) => self.json(1) }),
    'format of nothing': (res) => res.format({}),
    cookie: (res) => res.cookie('a', 'b').sendStatus(204),
    'a late write': (res) => [res.end('whole'), res.write('late')],
  };

  test.each(Object.keys(calls))('answers by %s', async (name) => {
    const listener: RequestListener = (req, res) => {
      (res as { req?: IncomingMessage | undefined }).req = undefined as never;
      // Node's own server asks for it then, and since 26.12 ends the process where it is gone.
      res.prependOnceListener('finish', () => Object.assign(res, { req }));
      (calls[name] as (res: Response) => unknown)(res as never);
    };
    const port = await running.listen(createHttpServer({ ServerResponse: Response as never }, listener));
    const { status } = await ask(port, '/');
    expect(status).toBe(name.startsWith('redirect') ? 302 : name.endsWith('fails') ? 500 : name === 'format of nothing' ? 406 : name === 'cookie' ? 204 : 200);
  });
});
