import express from 'express';
import { Running } from './support/running';
import { SILENT_KINDS } from './support/silent-kinds';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

type Work = (req: express.Request, res: express.Response) => unknown;

/** What a program does with a request that its application has passed on. */
const WORKS: Readonly<Record<string, Work>> = {
  'req.get': (req) => req.get('user-agent'),
  'req.header': (req) => req.header('referrer'),
  'req.is': (req) => req.is('json'),
  'req.accepts': (req) => [req.accepts('json'), req.acceptsEncodings('gzip'), req.acceptsLanguages('en'), req.acceptsCharsets('utf-8')],
  'req.range': (req) => req.range(10),
  'req.query': (req) => ({ ...req.query }),
  'req.path': (req) => [req.path, req.hostname, req.protocol, req.secure, req.xhr, req.subdomains, req.ips, req.fresh, req.stale],
  'req.ip': (req) => typeof req.ip,
  'req.app': (req) => req.app.get('mine') as unknown,
  'res.app': (_req, res) => res.app.get('mine') as unknown,
  'res.get': (_req, res) => res.get('x-set'),
  'res.locals': (_req, res) => ({ ...res.locals }),
  'res.set': (_req, res) => [res.set('X-Late', '1') === res, res.type('txt') === res, res.vary('a') === res],
  'res.append': (_req, res) => res.append('X-Set', '2') === res,
  'res.cookie': (_req, res) => res.cookie('a', 'b') === res,
  'res.status': (_req, res) => res.status(202) === res,
  'res.send': (_req, res) => res.status(503).send('late') === res,
  'res.json': (_req, res) => res.status(503).json({ late: true }) === res,
  'res.sendStatus': (_req, res) => res.sendStatus(503) === res,
  'res.redirect': (_req, res) => res.redirect('/late'),
  'res.format': (_req, res) => res.format({ json: () => res.json({}), default: () => res.send('') }) === res,
  'res.end': (_req, res) => res.headersSent || res.end('late') === res,
};
/** Another answers it in a turn of its own: this comes before, in that, or behind. */
const TIMES: Readonly<Record<string, (res: express.Response, act: () => void, next: () => void) => void>> = {
  'before it passes it on': (_res, act, next) => {
    act();
    next();
  },
  'when it has passed it on': (_res, act, next) => {
    next();
    act();
  },
  'in a timer': (_res, act, next) => {
    next();
    setImmediate(act);
  },
  'when the response has finished': (res, act, next) => {
    res.on('finish', act);
    next();
  },
  'when it has closed': (res, act, next) => {
    res.on('close', act);
    next();
  },
};

/** What comes of the work, and what the client is answered, where a server of node:http goes on behind the application, as connect does. */
async function outcome(make: () => express.Express, work: Work, time: string, isBehind: boolean): Promise<unknown> {
  const app = make();
  app.set('mine', 'of this application');
  let told = (_made: unknown): void => undefined;
  const made = new Promise((resolve) => (told = resolve));
  app.use((req, res, next) => {
    res.set('X-Set', '1');
    res.locals['a'] = 'b';
    (TIMES[time] as (typeof TIMES)[string])(res, () => {
      try {
        told(work(req, res));
      } catch (error) {
        told((error as NodeJS.ErrnoException).code ?? (error as Error).name);
      }
    }, next);
  });
  const first: express.RequestHandler = isBehind ? express().use((_req, _res, next) => next()) : (_req, _res, next) => next();
  const port = await running.serve(((req, res) => first(req, res, () => void (app as unknown as express.RequestHandler)(req, res, () => {
    setImmediate(() => setImmediate(() => {
      if (!res.headersSent) res.end('of another');
    }));
  }))) as express.RequestHandler as never);
  const { status, body, headers } = await ask(port, '/a/b?c=d', { headers: { 'user-agent': 'spec', 'accept': 'application/json' } });
  return [await made, status, body, headers['x-late'], headers['x-set'], headers['set-cookie'], headers['location']];
}

describe.each(Object.entries(SILENT_KINDS))('%s, behind which another goes on', (_, make) => {
  describe.each(Object.keys(TIMES))('as of Express: %s', (time) => {
    test.each(Object.keys(WORKS))('%s', async (name) => {
      // In front may have stood one of Express, whose methods stay as well.
      for (const isBehind of [false, true]) {
        const [got, wanted] = await Promise.all([make, () => express().set('env', 'test')].map((each) => outcome(each, WORKS[name] as Work, time, isBehind)));
        expect(got).toEqual(wanted);
      }
    });
  });
});

test.each(Object.entries(SILENT_KINDS))('behind several of %s the last one\'s methods and settings stay, as of Express', async (_, make) => {
  const shown = async (of: () => express.Express): Promise<string> => {
    const [first, second] = [1, 2].map((spaces) => of().set('json spaces', spaces).set('trust proxy', spaces === 2)) as [express.Express, express.Express];
    const port = await running.serve((req, res) => first(req as express.Request, res as express.Response, (() => {
      second(req as express.Request, res as express.Response, (() => void (res as express.Response).json({ ip: (req as express.Request).ip, app: (req as express.Request).app === second })) as never);
    }) as never));
    return (await ask(port, '/', { headers: { 'x-forwarded-for': '192.0.2.7' } })).body;
  };
  expect(await shown(make)).toBe(await shown(() => express()));
});
