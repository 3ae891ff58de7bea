import { join } from 'node:path';
import express from 'express';
import { createServer, express as waypostExpress } from 'waypost';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();
const files = new Folder({ 'a.txt': 'the file', 'v.t': '' });
const folder = files.path;

afterAll(() => files.close());
afterEach(() => running.close());

type Method = (...given: unknown[]) => unknown;
type Wrapped = Record<string, Method> & { readonly calls: string[] };

/** Methods that middleware replaces, as loggers of answers do. */
const METHODS = ['send', 'json', 'jsonp', 'redirect', 'sendStatus', 'status', 'set', 'type', 'cookie', 'end'];
/** How one calls what it has replaced. */
const WAYS: Readonly<Record<string, (before: Method, res: object) => Method>> = {
  'with its own this': (before) => function (this: unknown, ...given) { return Reflect.apply(before, this, given); },
  'bound to the response': (before, res) => before.bind(res),
};

/** An application of Express, which puts its own prototypes on what it is given. */
function mounted(): express.Express {
  const app = express().set('env', 'test');
  app.engine('t', (_path, options, done) => done(null, `rendered ${String((options as { a?: string }).a)}`));
  app.set('views', folder);
  app.set('view engine', 't');
  app.get('/send', (_req, res) => void res.send('text'));
  app.get('/object', (_req, res) => void res.send({ a: 1 }));
  app.get('/json', (_req, res) => void res.status(201).json({ a: 1 }));
  app.get('/jsonp', (_req, res) => void res.jsonp({ a: 1 }));
  app.get('/redirect', (_req, res) => res.redirect('/a'));
  app.get('/redirect/status', (_req, res) => res.redirect(301, '/a'));
  app.get('/file', (_req, res) => res.sendFile('a.txt', { root: folder }));
  app.get('/file/none', (_req, res) => res.sendFile('none.txt', { root: folder }, (error) => void res.status(error ? 410 : 200).end()));
  app.get('/download', (_req, res) => res.download(join(folder, 'a.txt'), 'b.txt'));
  app.get('/format', (_req, res) => void res.format({ html: () => void res.send('<p>'), json: () => void res.json({}) }));
  app.get('/render', (_req, res) => res.render('v', { a: 'b' }));
  app.get('/status', (_req, res) => void res.sendStatus(202));
  app.get('/end', (_req, res) => void res.type('txt').cookie('a', 'b').set('X-A', '1').end('end'));
  return app;
}

const PATHS = ['/send', '/object', '/json', '/jsonp', '/jsonp?callback=f', '/redirect', '/redirect/status', '/file', '/file/none', '/download', '/format', '/render', '/status', '/end', '/none'];

/** What middleware has replaced before an application of Express is entered is called for a response that has Express's methods by then. */
describe.each(Object.entries({ 'express()': () => waypostExpress({ logging: { level: 'silent' } }), 'createServer()': () => createServer({ logging: { level: 'silent' } }) }))('in %s', (_, make) => {
  describe.each(Object.keys(WAYS))('a method replaced by one that calls it %s', (way) => {
    test.each(METHODS)('%s', async (name) => {
      const ports = await Promise.all([make(), express().set('env', 'test')].map((host) => {
        const app = host as unknown as express.Express;
        app.use((_req, res, next) => {
          const wrapped = res as unknown as Wrapped;
          const before = (WAYS[way] as (before: Method, res: object) => Method)(wrapped[name] as Method, res);
          wrapped[name] = function (this: unknown, ...given: unknown[]) {
            res.req.headers['x-calls'] = String(Number(res.req.headers['x-calls'] ?? 0) + 1);
            if (!res.headersSent) res.setHeader('X-Calls', String(res.req.headers['x-calls']));
            return Reflect.apply(before, this, given);
          };
          next();
        });
        app.use('/in', mounted());
        return running.serve(app as never);
      }));
      for (const path of PATHS) {
        const [got, wanted] = await Promise.all(ports.map(async (port) => {
          const { status, headers, body } = await ask(port, `/in${path}`);
          // Whether it makes an ETag, a response of Express's does not tell.
          const { date: _date, etag: _etag, 'x-powered-by': _by, ...fields } = headers;
          return path === '/none' ? status : [status, fields, body];
        }));
        expect([path, got]).toEqual([path, wanted]);
      }
    });
  });
});
