import express from 'express';
import { type Application, createServer } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

const LONG = 60_000;

/** An application with its log, that passes on what it does not have, and never answers `/open`. */
class Limited {
  readonly log = new LogRecorder();
  readonly app: Application;

  constructor(handlerTimeout: number, isOpen: boolean) {
    this.app = createServer({ logging: { logger: this.log }, server: { handlerTimeout } });
    this.app.use((_req, _res, next) => next());
    if (isOpen) this.app.get('/open', () => undefined);
  }

  /** How many requests it has answered in the place of their handlers. */
  get late(): number {
    return this.log.lines.filter(({ fields }) => (fields.err as { code?: unknown } | undefined)?.code === 'HANDLER_TIMEOUT').length;
  }
}

/** Where applications of one request stand. */
const HOSTS: Readonly<Record<string, (...apps: Limited[]) => express.RequestHandler>> = {
  'in turn in Express': (...apps) => apps.reduce((host, { app }) => host.use(app as never), express()),
  'in turn in a server of node:http': (...apps) => (req, res, next) => {
    const at = (index: number): void => (apps[index] as Limited).app(req, res, () => (index + 1 < apps.length ? at(index + 1) : next()));
    at(0);
  },
  'in turn in an application': (...apps) => apps.reduce((host, { app }) => host.use(app), createServer({ logging: { level: 'silent' } })) as unknown as express.RequestHandler,
  'each in the one before': (...apps) => {
    for (let index = apps.length - 1; index > 0; index -= 1) (apps[index - 1] as Limited).app.use((apps[index] as Limited).app);
    return (apps[0] as Limited).app as unknown as express.RequestHandler;
  },
};

describe.each(Object.entries(HOSTS))('of applications that have a request %s', (place, host) => {
  test.each([0, LONG])('the one counts that has the handler, behind one with the limit %d', async (before) => {
    const [first, last] = [new Limited(before, false), new Limited(20, true)];
    const port = await running.serve(host(first, last) as never);
    expect((await ask(port, '/open')).status).toBe(503);
    expect([first.late, last.late]).toEqual([0, 1]);
  });

  test('one that has passed it on counts no more', async () => {
    const [first, last] = [new Limited(20, false), new Limited(60, true)];
    const port = await running.serve(host(first, last) as never);
    expect((await ask(port, '/open')).status).toBe(503);
    // Around the handler it has it still.
    expect([first.late, last.late]).toEqual(place.startsWith('each') ? [1, 0] : [0, 1]);
  });

  test('it counts again where the request comes back', async () => {
    const app = new Limited(20, false);
    let isSecond = false;
    app.app.use((_req, _res, next) => {
      if (isSecond) return;
      isSecond = true;
      next();
    });
    const port = await running.serve((req, res) => app.app(req, res, () => app.app(req, res)));
    expect((await ask(port, '/')).status).toBe(503);
    expect(app.late).toBe(1);
  });
});

test('it counts on where an application has called itself and passed that on', async () => {
  const { app } = new Limited(20, false);
  let isWithin = false;
  app.use((req, res, next) => {
    if (isWithin) return next();
    isWithin = true;
    app(req, res, () => undefined);
  });
  expect((await ask(await running.serve((req, res) => app(req, res)), '/')).status).toBe(503);
});

test('one that refuses a target and passes that on counts no more', async () => {
  const [refusing, around] = [new Limited(20, false), new Limited(60, false)];
  around.app.use((req, res, next) => {
    req.url = '/a\\b#';
    refusing.app(req, res, () => {
      req.url = '/open';
      next();
    });
  });
  around.app.get('/open', () => undefined);
  expect((await ask(await running.serve((req, res) => around.app(req, res)), '/')).status).toBe(503);
  expect([refusing.late, around.late]).toEqual([0, 1]);
});
