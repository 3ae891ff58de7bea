import { METHODS } from 'node:http';
import { createServer, express, Router } from 'waypost';
import { answersOf, onBoth } from './support/both-expresses';

type Registrar = Record<string, (...given: unknown[]) => unknown>;

/** CONNECT reaches no handler: Node's servers have an event of its own for it. */
const VERBS = METHODS.filter((method) => method !== 'CONNECT').map((method) => method.toLowerCase());

describe('a verb for every method of Node', () => {
  test.each(['application', 'router', 'route'] as const)('of an %s handles that one', async (kind) => {
    await onBoth((lib) => {
      const app = lib();
      for (const verb of VERBS) {
        const handler = (_req: unknown, res: { end(text: string): void }): void => res.end(verb);
        if (kind === 'route') (app.route(`/${verb}`) as unknown as Registrar)[verb]!(handler);
        const registrar = kind === 'application' ? app : lib.Router();
        if (kind !== 'route') (registrar as unknown as Registrar)[verb]!(`/${verb}`, handler);
        if (kind === 'router') app.use(registrar as never);
      }
      return answersOf(app, VERBS.flatMap((verb) => [[`/${verb}`, { method: verb.toUpperCase() }], [`/${verb}`, { method: 'DELETE' }]] as const));
    });
  });

  test('bind is that of a function too', () => {
    const app = express({ logging: { level: 'silent' } });
    for (const bindable of [app, Router()]) expect(typeof bindable.bind(null)).toBe('function');
    expect(app.bind('/a', () => undefined)).toBe(app);
    expect(app.routes()).toEqual([{ method: 'BIND', path: '/a', handlers: 1 }]);
  });
});

describe('OPTIONS', () => {
  const asked = ['/a', '/a/', '/r/x', '/r/deep/y', '/r/none', '/all', '/none', '/own', '/taken'].map((target) => [target, { method: 'OPTIONS' }] as const);

  test('is answered by express() as by Express: each router by its own routes, before what stands behind it', async () => {
    await onBoth((lib) => {
      const app = lib();
      const end = (_req: unknown, res: { end(text: string): void }): void => res.end('answered');
      app.get('/a', end).put('/a', end).post('/b', end);
      const [router, deep] = [lib.Router(), lib.Router()];
      router.get('/x', end).delete('/:x', end);
      deep.patch('/y', end);
      router.use('/deep', deep);
      router.post('/deep/y', end);
      app.use('/r', router);
      app.get('/r/x', end);
      app.all('/all', ((_req: unknown, _res: unknown, next: () => void) => next()) as never);
      app.options('/own', end);
      app.get('/own', end);
      app.get('/taken', end);
      app.use('/taken', end);
      return answersOf(app, asked, ['allow', 'content-type', 'content-length']);
    });
  });

  test('createServer leaves it to its option', async () => {
    const make = (methodNotAllowed: boolean): ReturnType<typeof createServer> =>
      createServer({ logging: { level: 'silent' }, routing: { methodNotAllowed } }).get('/a', (_req, res) => res.end());
    expect(await answersOf(make(false), [['/a', { method: 'OPTIONS' }]], ['allow'])).toEqual([['/a', 404, '', undefined]]);
    expect(await answersOf(make(true), [['/a', { method: 'OPTIONS' }]], ['allow'])).toEqual([['/a', 204, '', 'GET, HEAD, OPTIONS']]);
  });
});
