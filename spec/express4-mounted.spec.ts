import express from 'express';
import express4 from 'express4';
import { Running } from './support/running';
import { SILENT_KINDS } from './support/silent-kinds';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

const TARGETS = ['?term=x', '?a[b]=1&a[c]=2', '?a=1&a=2', '?', '', '?%', '?__proto__=1&a=b'];

/** An application that shows its query, twice, since programs put things into it. */
function shown(inner: express.Express): express.Express {
  inner.get('/search', (req, _res, next) => {
    Object.assign(req.query, { put: 'in' });
    next();
  });
  inner.get('/search', (req, res) => void res.json({ ...req.query }));
  return inner;
}

async function answers(outer: express.Express, path: string): Promise<unknown[][]> {
  return answersOf(outer, TARGETS.map((query) => path + query));
}

async function answersOf(outer: express.Express, targets: readonly string[]): Promise<unknown[][]> {
  const port = await running.serve(outer);
  return Promise.all(targets.map(async (target) => {
    const { status, body } = await ask(port, target);
    return [target, status, body];
  }));
}

describe.each(Object.entries(SILENT_KINDS))('an application of Express 4 in %s', (_, make) => {
  test.each(['extended', 'simple', false, (text: string | null) => ({ text: text ?? '' })])('has the query that its own parser makes: %s', async (parser) => {
    const inner = (): express.Express => shown(express4().set('query parser', parser));
    expect(await answers(make().use('/in', inner()), '/in/search')).toEqual(await answers(express4().set('query parser', parser).use('/in', inner()), '/in/search'));
  });

  test('has it as the fallback too', async () => {
    const outer = make();
    (outer as unknown as { fallback(listener: unknown): void }).fallback(shown(express4()));
    expect(await answers(outer, '/search')).toEqual(await answers(shown(express4()), '/search'));
  });

  test('keeps what its middleware has made of it, wherever a router or an application within takes a part of the path', async () => {
    const cleaning: express.RequestHandler = (req, _res, next) => {
      req.query['limit'] = '100';
      delete req.query['role'];
      next();
    };
    const found: express.RequestHandler = (req, res) => void res.json([req.url, req.query]);
    const old = (within: () => express.Express): express.Express => {
      const app = express4();
      const router = express4.Router();
      router.use(cleaning);
      app.use('/api', router.get('/list', found), within().get('/deep', found), within().use('/deeper', within().get('/:id', found)));
      return app.use(cleaning, found);
    };
    const targets = ['/in/api/list', '/in/api/deep', '/in/api/deeper/7', '/in/other'].map((path) => `${path}?limit=1000&role=admin&a[b]=1`);
    const wanted = await answersOf(express4().use('/in', old(express4)), targets);
    expect(await answersOf(make().use('/in', old(express4)), targets)).toEqual(wanted);
    expect(await answersOf(make().use('/in', old(make)), targets)).toEqual(wanted);
    const behind = (outer: express.Express): express.Express => outer.use(cleaning).use('/in', old(express4)).use(found);
    expect(await answersOf(behind(make().set('query parser', 'extended')), targets)).toEqual(await answersOf(behind(express4()), targets));
    const inTurn = (outer: express.Express): express.Express => outer.use('/in', express4().use(cleaning)).use('/in', express4().use('/api', found).use(found));
    expect(await answersOf(inTurn(make()), targets)).toEqual(await answersOf(inTurn(express4()), targets));
  });

  test.each<[string, (req: express.Request) => unknown]>([
    ['fixed', (req) => Object.defineProperty(req, 'query', { value: req.query, writable: false, configurable: false })],
    ['an accessor that throws', (req) => Object.defineProperty(req, 'query', { get: () => raise(new Error('never read')), configurable: true })],
    ['taken off', (req) => delete (req as { query?: unknown }).query],
  ])('may have it made %s, and go on', async (_name, make4) => {
    const old = express4().use((req, _res, next) => {
      make4(req);
      next();
    });
    expect(await answersOf(make().use('/in', old, (_req, res) => void res.send('behind')), ['/in/a?b=c', '/in/a'])).toEqual([['/in/a?b=c', 200, 'behind'], ['/in/a', 200, 'behind']]);
  });

  test('leaves it to what stands behind', async () => {
    const answer: express.RequestHandler = (req, res) => void res.json({ ...req.query });
    const found = async (outer: express.Express): Promise<unknown[]> => (await answers(outer.use('/in', shown(express4()), answer), '/in/none')).filter(([target]) => !String(target).includes('__proto__'));
    expect(await found(make())).toEqual(await found(express()));
  });
});

function raise(error: Error): never {
  throw error;
}

/** In Express 5 nothing can be assigned to `req.query`: there middleware that cleans it puts a property in its place. */
describe.each(Object.entries(SILENT_KINDS))('what middleware of %s has assigned to the query', (_, make) => {
  const clean: express.RequestHandler = (req, _res, next) => {
    req.query = { term: 'clean' };
    next();
  };

  test.each(Object.entries({ 'Express 4': express4, 'Express 5': express, 'waypost': SILENT_KINDS['express()'] }))('an application of %s finds', async (_name, inner) => {
    for (const place of [(app: express.Express) => make().use(clean).use('/in', app), (app: express.Express) => make().use('/in', clean, (req, res, next) => app(req, res, next))]) {
      const app = inner();
      app.get('/search', (req, res) => void res.json(req.query));
      const port = await running.serve(place(app));
      expect((await ask(port, '/in/search?term=x&other=y')).json).toEqual({ term: 'clean' });
    }
  });
});
