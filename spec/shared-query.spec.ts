import express from 'express';
import express4 from 'express4';
import { Running } from './support/running';
import { SILENT_KINDS } from './support/silent-kinds';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

type Make = () => express.Express;
/** Applications of every kind. */
const INNERS: Readonly<Record<string, Make>> = { ...SILENT_KINDS, 'Express 4': () => express4(), 'Express 5': () => express() };
const PARSERS: readonly unknown[] = ['simple', 'extended', false, (text: string | null) => ({ given: text ?? '' })];
const TARGET = '/a?role=admin&password[$ne]=x&role=user';

const read: express.RequestHandler = (req, _res, next) => {
  JSON.stringify(req.query);
  next();
};
const answer: express.RequestHandler = (req, res) => void res.json({ ...req.query });

/** How another application has the request before. */
const PLACES: Readonly<Record<string, (outer: express.Express, inner: express.Express) => express.RequestHandler>> = {
  'that was mounted': (outer, inner) => outer.use(inner.use(read)).use(answer),
  'that has passed an error on': (outer, inner) => outer.use(inner.use(read, (_req, _res, next) => next(new Error('of the inner one')))).use(((_error, req, res, next) => answer(req, res, next)) as express.ErrorRequestHandler),
  'that was called by hand': (outer, inner) => {
    inner.use(read);
    return outer.use((req, res, next) => inner(req, res, next)).use(answer);
  },
  'that was in turn before, in a server of node:http': (outer, inner) => {
    inner.use(read);
    outer.use(answer);
    return (req, res, next) => inner(req, res, () => outer(req, res, next));
  },
};

describe.each(Object.entries(SILENT_KINDS))('%s reads the query by its own parser', (_, make) => {
  describe.each(Object.entries(INNERS))('behind an application of %s', (kind, inner) => {
    test.each(Object.entries(PLACES))('%s', async (name, place) => {
      for (const parser of PARSERS) {
        for (const other of PARSERS) {
          const asked = async (outerOf: Make, innerOf: Make): Promise<unknown> => {
            const listener = place(outerOf().set('query parser', parser), innerOf().set('query parser', other));
            return (await ask(await running.serve(listener as never), TARGET)).json;
          };
          // An application of Express that was called by hand leaves the request its own, and one of Express 4 a property of the request, to any other.
          const isLeft = (kind.startsWith('Express') && name === 'that was called by hand') || (kind === 'Express 4' && name.startsWith('that was in turn'));
          const wanted = isLeft ? await asked(() => express(), inner) : (await ask(await running.serve(express().set('query parser', parser).use(answer)), TARGET)).json;
          expect([parser, other, await asked(make, inner)]).toEqual([parser, other, wanted]);
        }
      }
    });
  });
});

/** What stands within finds what was read, and cleaned, before it. */
test.each(Object.entries(SILENT_KINDS))('what %s has cleaned in place stays clean within, whatever the parsers', async (_, make) => {
  for (const inner of ['express()', 'createServer()', 'Express 4']) {
    for (const parser of PARSERS.slice(0, 3)) {
      const app = make().use((req, _res, next) => {
        delete req.query['role'];
        next();
      }).use((INNERS[inner] as Make)().set('query parser', parser).get('/a', answer));
      expect(Object.keys((await ask(await running.serve(app), TARGET)).json as object)).not.toContain('role');
    }
  }
});
