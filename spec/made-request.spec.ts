import { EventEmitter } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import theirs from 'express';
import { answersOf, type ExpressModule, onBoth } from './support/both-expresses';

/** What a program may hand to an application for a part of the request that it has, as one that takes several in one body does. */
const PARTS: Readonly<Record<string, (req: IncomingMessage) => object>> = {
  'what inherits from its request, with headers': (req) => Object.assign(Object.create(req), { headers: req.headers }),
  'what inherits from its request, with headers and what was received': (req) => Object.assign(Object.create(req), { headers: req.headers, rawHeaders: req.rawHeaders }),
  'what inherits from its request, without what was received': (req) => Object.assign(Object.create(req), { headers: {}, rawHeaders: undefined }),
  'what inherits from its request, with headers that are fixed': (req) => Object.assign(Object.create(req), { headers: Object.freeze({ ...req.headers }) }),
  'a copy of its request': (req) => ({ ...req, headers: req.headers }),
  'a plain object': () => ({ headers: {} }),
  'a plain object without headers': () => ({}),
  'an emitter': () => Object.assign(new EventEmitter(), { headers: {} }),
  'an emitter without headers': () => new EventEmitter(),
  'a stream': () => Object.assign(Readable.from(['{"a":1}']), { headers: { 'content-type': 'application/json', 'content-length': '7' } }),
  'a message without a socket': () => new IncomingMessage(undefined as never),
  'a message with its socket': (req) => new IncomingMessage(req.socket),
};

/** Calls an application with a part of a request, at once or in a later turn, and answers with what that answers. */
function batch(express: ExpressModule, part: (req: IncomingMessage) => object, later: boolean, parses: boolean) {
  const inner = express();
  if (parses) inner.use(express.json());
  inner.post('/items/:id', (req, res) => void res.json({ id: req.params.id, body: req.body ?? null, query: req.query, path: req.path }));
  const outer = express();
  outer.post('/batch', (req, res, next) => {
    // Node 26.12 ends a process of Express's otherwise, which gives the response another request.
    if (express === theirs) res.prependOnceListener('finish', () => Object.assign(res, { req }));
    const call = () => {
      try {
        inner(Object.assign(part(req), { method: 'POST', url: '/items/2?x=1' }) as never, res, next);
      } catch (error) {
        res.end(`thrown: ${String(error)}`);
      }
    };
    if (later) setImmediate(call);
    else call();
  });
  return outer;
}

describe('an application that is called with a request of a program\'s own making does as Express does', () => {
  const cases = Object.keys(PARTS).flatMap((name) => [[name, 'at once', false], [name, 'later', true]] as const);
  test.each(cases)('%s, %s', async (name, _when, later) => {
    for (const parses of [false, true]) {
      const [[, status]] = await onBoth((express) => answersOf(batch(express, PARTS[name] as never, later, parses), [['/batch', { method: 'POST' }]])) as [[string, number]];
      expect(status).toBe(200);
    }
  });
});
