import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { type Application, createServer, express, type NextFunction, type Request, type Response, Router } from 'waypost';
import { runs } from './support/runs';
import { Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const KINDS: Readonly<Record<string, () => Application>> = {
  'createServer()': () => createServer({ logging: { level: 'silent' } }),
  'express()': () => express({ logging: { level: 'silent' } }),
};

/** What a function does with a request. */
interface Step {
  readonly act: 'next' | 'route' | 'router' | 'error' | 'throw' | 'answer' | 'wait' | 'never' | 'twice' | 'lateError';
  /** Target that it makes, once in a request. */
  readonly target: string | null;
}

type Entry =
  | { readonly kind: 'param'; readonly name: string; readonly value: string; readonly step: Step }
  | { readonly kind: 'use' | 'route'; readonly path: string; readonly step: Step }
  | { readonly kind: 'catch'; readonly path: string; readonly step: Step }
  | { readonly kind: 'mount'; readonly path: string; readonly entries: readonly Entry[] };

const targets = fc.constantFrom('/users/old', '/users/7', '/users/7/secret', '/old', '/users/old/secret');
const step = (...acts: Step['act'][]): fc.Arbitrary<Step> => fc.record({ act: fc.constantFrom(...acts), target: fc.option(targets, { freq: 2 }) });
const paths = fc.constantFrom('/', '/users', '/users/:id', '/:x', '/:x/:id');
const param = fc.record({ kind: fc.constant('param' as const), name: fc.constantFrom('id', 'id', 'x'), value: fc.constantFrom('old', 'old', '7', 'users'), step: step('next', 'route', 'router', 'error', 'throw', 'wait', 'never') });
const use = (allowed: fc.Arbitrary<string>): fc.Arbitrary<Entry> => fc.record({ kind: fc.constant('use' as const), path: allowed, step: step('next', 'next', 'next', 'error', 'answer', 'twice', 'lateError') });
const { tail } = fc.letrec<{ tail: Entry[]; entry: Entry }>((tie) => ({
  tail: fc.array(tie('entry'), { minLength: 2, maxLength: 6 }),
  entry: fc.oneof(
    { arbitrary: param, weight: 2 },
    { arbitrary: use(paths), weight: 4 },
    { arbitrary: fc.record({ kind: fc.constant('route' as const), path: fc.constantFrom('/users/:id', '/users/:user/secret', '/:x', '/:x/:id/secret'), step: step('answer', 'answer', 'next', 'error') }), weight: 3 },
    { arbitrary: fc.record({ kind: fc.constant('catch' as const), path: paths, step: step('next', 'error', 'answer') }), weight: 2 },
    { arbitrary: fc.record({ kind: fc.constant('mount' as const), path: paths, entries: fc.array(tie('entry'), { minLength: 1, maxLength: 4, depthIdentifier: 'mount' }) }), weight: 1 },
  ),
})) as { tail: fc.Arbitrary<Entry[]> };
/** What is at stake comes first: handlers of parameters, and what is behind them. */
const hooked = fc.constantFrom('/users/:id', '/:x', '/:x/:id');
const late = fc.record({ kind: fc.constant('use' as const), path: fc.constant('/'), step: fc.record({ act: fc.constantFrom('twice' as const, 'lateError' as const), target: fc.constant(null) }) });
const entries = fc.tuple(fc.array(late, { maxLength: 1 }), fc.array(param, { minLength: 1, maxLength: 2 }), fc.array(use(hooked), { minLength: 1, maxLength: 2 }), tail).map((parts): Entry[] => parts.flat());

/** Turns of the event loop after which nothing more comes: many times what all that waits takes. */
const TURNS = 80;

/** Answers for a handler that never does. */
function answerAfter(turns: number, res: ServerResponse): void {
  if (res.writableEnded) return;
  if (turns > 0) return void setImmediate(answerAfter, turns - 1, res);
  res.statusCode = 599;
  res.end();
}

/** A request's trace: what ran, and with which parameters. */
class Trace {
  readonly lines: string[] = [];
  readonly #rewriters = new Set<Step>();

  run(name: string, step: Step, req: Request, res: Response, next: NextFunction): void {
    const { act, target } = step;
    // What a late error meets behind the answer is a race with the client.
    if (!res.writableEnded) this.lines.push(`${name} ${req.baseUrl}|${req.url} ${JSON.stringify(req.params)}`);
    if (target !== null && !this.#rewriters.has(step)) {
      this.#rewriters.add(step);
      req.url = target;
    }
    if (act === 'throw') throw new Error('thrown');
    if (act === 'answer') return void res.send('answered');
    if (act === 'wait') return void setImmediate(() => setImmediate(() => setImmediate(next)));
    if (act === 'never') return;
    if (act === 'twice') next();
    if (act === 'lateError') setImmediate(next, new Error('late'));
    if (act === 'error') return next(new Error('raised'));
    if (act === 'route' || act === 'router') return next(act);
    next();
  }
}

const traces = new WeakMap<object, Trace>();

function register(on: Application, list: readonly Entry[], at = ''): void {
  list.forEach((entry, index) => {
    const name = `${at}${index} ${entry.kind}`;
    if (entry.kind === 'mount') {
      const router = Router();
      register(router as unknown as Application, entry.entries, `${at}${index}.`);
      on.use(entry.path, router);
      return;
    }
    const { step: each } = entry;
    const call = (req: Request, res: Response, next: NextFunction): void => (traces.get(req.socket) as Trace).run(name, each, req, res, next);
    if (entry.kind === 'param') on.param(entry.name, (req, res, next, value) => (value === entry.value ? call(req as Request, res as Response, next) : next()));
    else if (entry.kind === 'use') on.use(entry.path, call as never);
    else if (entry.kind === 'route') on.get(entry.path, call as never);
    else on.use(entry.path, ((_error: unknown, req: Request, res: Response, next: NextFunction) => call(req, res, next)) as never);
  });
}

test.each(Object.entries(KINDS))('%s: what a parameter\'s handler, or an error while it waits, makes of a request does not depend on whether anything has been noted of it before', async (_, make) => {
  /** @param noted Whether something that does nothing has the walk note what runs, from the first on. */
  async function tracesOf(list: readonly Entry[], noted: boolean, asked: readonly string[]): Promise<unknown[]> {
    const app = make();
    let trace = new Trace();
    if (noted) app.use((_req, _res, next) => next('route'));
    register(app, list);
    const port = await running.serve((req, res) => {
      traces.set(req.socket, trace);
      (app as unknown as (...given: unknown[]) => void)(req, res);
      answerAfter(TURNS, res);
    });
    const all = [];
    for (const target of asked) {
      trace = new Trace();
      const { status } = await ask(port, target);
      all.push({ target, status, lines: trace.lines });
    }
    return all;
  }
  await fc.assert(fc.asyncProperty(entries, async (list) => {
    const asked = ['/users/old', '/users/7', '/old', '/users/7/secret'];
    expect(await tracesOf(list, false, asked)).toEqual(await tracesOf(list, true, asked));
    await running.close();
  }), { numRuns: runs(300) });
});

/** How the handler of a parameter leaves, and what then makes another target. */
const LEAVES: Readonly<Record<string, (app: Application) => void>> = {
  'next(\'route\'), and middleware below': (app) => {
    app.param('id', (_req, _res, next, id) => next(id === 'old' ? 'route' : undefined));
    app.use('/users/:id', guard);
    app.use(lead);
  },
  'next(error), and error middleware': (app) => {
    app.param('id', (_req, _res, next, id) => next(id === 'old' ? new Error('none') : undefined));
    app.use('/users/:id', guard);
    app.use(((_error: unknown, req: Request, res: Response, next: NextFunction) => lead(req, res, next)) as never);
  },
  'a new target and next(error)': (app) => {
    app.param('id', (req, _res, next, id) => {
      if (id === 'old') req.url = '/users/7/secret';
      next(id === 'old' ? new Error('none') : undefined);
    });
    app.use('/users/:id', guard);
    app.use(((_error: unknown, _req: Request, _res: Response, next: NextFunction) => next()) as never);
  },
  'nothing, and a second next that meets another parameter': (app) => {
    app.use((_req, _res, next) => {
      next();
      next();
    });
    app.param('id', (_req, _res, next, id) => void (id === 'old' || next()));
    app.param('x', (_req, _res, next) => next());
    app.use('/users/:id', guard);
    app.use('/:x', (_req, _res, next) => next());
    app.use(lead);
  },
  'next too late, behind the error of another': (app) => {
    let failLate: () => void = () => undefined;
    app.use((_req, _res, next) => {
      failLate = () => next(new Error('timeout'));
      next();
    });
    app.param('id', (_req, _res, next, id) => (id === 'old' ? failLate() : next()));
    app.use('/users/:id', guard);
    app.use(((_error: unknown, req: Request, res: Response, next: NextFunction) => lead(req, res, next)) as never);
  },
};

function guard(_req: unknown, res: Response): void {
  res.status(403).end();
}

function lead(req: Request, _res: unknown, next: NextFunction): void {
  req.url = '/users/7/secret';
  next();
}

describe.each(Object.entries(KINDS))('%s', (_, make) => {
  test.each(Object.entries(LEAVES))('a guard whose parameter\'s handler leaves by %s is met by the new target', async (_name, add) => {
    const app = make();
    add(app);
    app.get('/users/:user/secret', (_req, res) => res.send('secret'));
    const port = await running.serve(app as never);
    // As in Express a parameter's error is one for every value.
    expect([403, 500]).toContain((await ask(port, '/users/old')).status);
  });
});

describe.each(Object.entries(KINDS))('%s', (_, make) => {
  test('a parameter whose handlers are still awaited is not lost to another layer\'s that goes on late', async () => {
    const app = make();
    let fail: () => void = () => undefined;
    let late: () => void = () => undefined;
    app.use((_req, _res, next) => {
      fail = () => next(new Error('meanwhile'));
      next();
    });
    app.param('a', (_req, _res, next, value) => {
      if (value !== '1') return next();
      late = next;
      setImmediate(fail);
    });
    app.param('b', (_req, _res, next) => {
      setImmediate(() => {
        late();
        setImmediate(next);
      });
    });
    app.use('/:a/:b', (_req, _res, next) => next());
    app.use(((_error: unknown, _req: Request, _res: Response, next: NextFunction) => next()) as never);
    app.get('/1/:a/:b', (_req, res) => res.send('reached'));
    const port = await running.serve((req, res) => {
      (app as unknown as (...given: unknown[]) => void)(req, res);
      answerAfter(TURNS, res);
    });
    expect((await ask(port, '/1/2/2')).body).toBe('reached');
  });
});
