import type { RequestListener } from 'node:http';
import expressOfNode from 'express';
import { type Application, createServer, express, type Handler } from 'waypost';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

/** What calls next(), with nothing behind it, and answers on the same turn. */
const ANSWERS: Record<string, Handler> = {
  'res.json': (_req, res, next) => {
    next();
    res.json({ by: 'the handler' });
  },
  'res.send behind two calls': (_req, res, next) => {
    next();
    next();
    res.send('by the handler');
  },
  'res.end in a microtask': (_req, res, next) => {
    next();
    process.nextTick(() => res.end('by the handler'));
  },
  'res.json behind an error': (_req, res, next) => {
    next(Object.assign(new Error('raised'), { status: 418 }));
    res.json({ by: 'the handler' });
  },
  'a field for the default answer': (_req, res, next) => {
    next();
    res.setHeader('X-Seen', 'yes');
  },
};

/** Where it stands. */
const PLACES: Record<string, (app: Application, handler: Handler) => unknown> = {
  'as middleware': (app, handler) => app.use(handler),
  'as a route': (app, handler) => app.get('/a', handler),
  'behind other middleware': (app, handler) => app.use((_req, _res, next) => next(), handler),
};

async function ask(port: number): Promise<string> {
  const answer = await Wire.tell(port, head('GET /a', { Connection: 'close' }));
  const [top = '', body] = answer.split('\r\n\r\n');
  return `${top.slice(0, 12)} ${/x-seen: \w+/i.exec(top)?.[0] ?? ''} ${top.startsWith('HTTP/1.1 200') ? body : ''}`;
}

describe.each(Object.keys(PLACES))('a handler %s that calls next() and answers besides', (place) => {
  test.each(Object.keys(ANSWERS))('answers as in Express: %s', async (name) => {
    const register = PLACES[place] as (typeof PLACES)[string];
    const handler = ANSWERS[name] as Handler;
    const oracle = expressOfNode();
    oracle.set('env', 'test');
    register(oracle as unknown as Application, handler);
    const expected = await ask(await running.serve(oracle as unknown as RequestListener));
    for (const make of [createServer, express]) {
      const app = make({ logging: { level: 'silent' } }) as Application;
      register(app, handler);
      expect(await ask(await running.start(app))).toBe(expected);
      await running.close();
    }
  });
});

test.each([['next() and next(error)', 404], ['next(error) and next()', 418]])('of %s on one turn the first counts', async (name, status) => {
  const error = Object.assign(new Error('late'), { status: 418 });
  const given = name.startsWith('next()') ? [undefined, error] : [error, undefined];
  const port = await running.app((app) => app.use((_req, _res, next) => {
    for (const each of given) next(each);
  }));
  expect(await Wire.tell(port, head('GET /a', { Connection: 'close' }))).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});
