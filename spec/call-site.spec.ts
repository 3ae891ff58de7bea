import { type Application, createServer, express, Router } from 'waypost';
import { CallSite } from '../lib/call-site';
import { Layer } from '../lib/routing/layer';

const handler = (): void => undefined;

/** The line that a registration is told to stand at. */
function siteOf(register: (app: Application) => unknown, app = createServer()): string | undefined {
  register(app);
  return placeIn(app.router);
}

/** That of the first registration, or of the first in a router that is mounted. */
function placeIn({ stack: [layer] }: Router): string | undefined {
  if (!(layer instanceof Layer)) return undefined;
  return layer.handle instanceof Router ? placeIn(layer.handle) : layer.site.place;
}

/** The line that this was called from. */
function here(): string {
  const [, , caller = ''] = new Error('where').stack?.split('\n') ?? [];
  return /(call-site\.spec\.ts:\d+)/.exec(caller)?.[1] ?? '';
}

test.each<[string, (app: Application) => unknown]>([
  ['use', (app) => [app.use(handler), here()]],
  ['use, under a path', (app) => [app.use('/a', handler), here()]],
  ['get', (app) => [app.get('/a', handler), here()]],
  ['post', (app) => [app.post('/a', handler), here()]],
  ['all', (app) => [app.all('/a', handler), here()]],
  ['a route', (app) => [app.route('/a').get(handler), here()]],
  ['a router', (app) => { const router = Router(); app.use(router); return [router.get('/a', handler), here()]; }],
  ['an application that is mounted', (app) => [app.use('/in', createServer()), here()]],
])('the place of %s is the line of the program', (_name, register) => {
  for (const make of [createServer, express]) {
    let line = '';
    const place = siteOf((app) => ([, line] = register(app) as [unknown, string]), make());
    expect(place).toContain(line);
    expect(line).not.toBe('');
  }
});

test('it leaves the limit of stacks as it was, and does without where that is none', () => {
  const { stackTraceLimit } = Error;
  try {
    for (const limit of [50, 3, 0]) {
      Error.stackTraceLimit = limit;
      expect(siteOf((app) => app.get('/a', handler))).toContain('call-site.spec.ts');
      expect(Error.stackTraceLimit).toBe(limit);
    }
    Object.defineProperty(Error, 'stackTraceLimit', { value: 0, writable: false, configurable: true });
    expect(new CallSite().place).toBeUndefined();
  } finally {
    Object.defineProperty(Error, 'stackTraceLimit', { value: stackTraceLimit, writable: true, configurable: true, enumerable: true });
  }
});
