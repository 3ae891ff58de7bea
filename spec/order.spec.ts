import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fc from 'fast-check';
import { createServer, type Logger, Router } from 'waypost';
import { LinearWalker, type Outcome } from './support/linear-walk';
import { Pipeline } from './support/pipeline';
import { build, type Builder, type Extent, type Func, type Incoming, line, programs, type Registrar, type RouterProgram, type Sent, targets } from './support/program';

const RUNS = Number(process.env.ORDER_RUNS ?? 20_000);

type Listener = (req: IncomingMessage, res: ServerResponse) => void;

/** One real server for all programs: each request is handed to the program under test. */
class Bench {
  listener: Listener = () => undefined;
  readonly #server: Server;
  #pipeline: Pipeline | null = null;
  #traces: string[][] = [];
  #lines = new WeakMap<object, string[]>();

  constructor() {
    this.#server = createHttpServer((req, res) => {
      const lines: string[] = [];
      this.#traces.push(lines);
      this.#lines.set(req, lines);
      this.listener(req, res);
    });
    // Unread bodies and pipelined requests wait for their turn.
    this.#server.maxRequestsPerSocket = 0;
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  note(req: object, text: string): void {
    this.#lines.get(req)?.push(text);
  }

  /** Sends all requests to the program; answers what became of each. */
  async ask(requests: readonly Sent[]): Promise<Outcome[]> {
    if (this.#pipeline === null || !this.#pipeline.usable) {
      this.#pipeline?.close();
      this.#pipeline = await Pipeline.open((this.#server.address() as AddressInfo).port);
    }
    this.#traces = [];
    const received = await this.#pipeline.send(requests);
    return received.map(({ status, body }, i) => ({
      trace: this.#traces[i] as string[],
      status,
      body: status === 200 && requests[i]?.method !== 'HEAD' ? body : null,
    }));
  }

  async close(): Promise<void> {
    this.#pipeline?.close();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }
}

const textOf = (error: unknown): string | null => {
  if (error === null || error === undefined) return null;
  const { code, message } = error as { code?: string; message?: string };
  return code ?? message ?? String(error);
};

const ignore = (): void => undefined;
/** One for all programs: to make one each is half the work. */
const logger: Logger = { level: 'silent', trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore };

function waypost(program: RouterProgram, bench: Bench): Listener {
  const app = createServer({ logging: { logger } });
  build(program, app as unknown as Registrar, {
    router: (application) => (application ? createServer({ logging: { logger } }) : Router()) as unknown as Registrar,
    pattern: (text) => text,
    record: ({ id }, _inRoute, error, req) => bench.note(req, line(id, req.method ?? '', req.url ?? '', req.baseUrl, req.params, textOf(error))),
  });
  return app as unknown as Listener;
}

/** An Express application whose list is that of the program under test. */
class Theirs {
  readonly app = express();
  #router = express.Router();

  constructor() {
    this.app.set('env', 'test').disable('x-powered-by').use((req, res, next) => this.#router(req, res, next));
  }

  load(program: RouterProgram, bench: Bench): Listener {
    const builder: Builder = {
      router: () => express.Router({ strict: true, caseSensitive: true, mergeParams: true }) as unknown as Registrar,
      pattern: (text) => text.replace(/\/\*\*/g, '/*deep').replace(/\/\*(?=\/|$)/g, '/:star'),
      record: (func, inRoute, error, req) => bench.note(req, expressLine(func, inRoute, error, req)),
    };
    this.#router = express.Router({ strict: true, caseSensitive: true });
    build(program, this.#router as unknown as Registrar, builder);
    return this.app as unknown as Listener;
  }
}

/** Waypost's handlers of routes see the whole URL; its wildcards go by other names. */
function expressLine({ id }: Func, inRoute: boolean, error: unknown, req: Incoming): string {
  const { deep, star, ...params } = req.params;
  if (deep !== undefined) params['**'] = (deep as string[]).join('/');
  if (star !== undefined) params['*'] = star;
  return line(id, req.method ?? '', inRoute ? req.originalUrl : req.url ?? '', req.baseUrl, params, textOf(error));
}

/** Requests of several kinds, some with a body that no parser reads. */
function requests(extent: Extent): fc.Arbitrary<Sent[]> {
  const method = fc.constantFrom(...extent.requestMethods);
  const plain = fc.record({ method, url: targets(extent) });
  const broken = fc.record({ method: fc.constantFrom('POST', 'PUT'), url: targets(extent), body: fc.constantFrom('{', '{}') });
  return fc.array(extent.rewrites > 0 ? fc.oneof({ arbitrary: plain, weight: 6 }, { arbitrary: broken, weight: 1 }) : plain, { minLength: 4, maxLength: 6 });
}

const bench = new Bench();
beforeAll(() => bench.start());
afterAll(() => bench.close());

const FULL: Extent = {
  segments: ['a', 'a', 'b', 'b', 'c', ':x', ':x', ':y', '*', '**', ':n(\\d+)'],
  anyMount: true,
  methods: ['GET', 'GET', 'GET', null, 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'],
  rewrites: 4,
  applications: true,
  requestSegments: ['a', 'a', 'a', 'b', 'b', 'b', 'c', '7', 'x%20y', 'p%2Fq', '%zz', '', '%61'],
  requestMethods: ['GET', 'GET', 'GET', 'GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'],
};

/** What Express's patterns and rules share with waypost's. */
const SHARED: Extent = {
  segments: ['a', 'a', 'b', 'b', 'c', ':x', ':x', ':y', '*', '**'],
  anyMount: false,
  methods: ['GET', 'GET', 'GET', null, 'POST', 'PUT', 'DELETE'],
  rewrites: 0,
  applications: false,
  requestSegments: ['a', 'a', 'a', 'b', 'b', 'b', 'c', '7', 'x%20y'],
  requestMethods: ['GET', 'GET', 'GET', 'GET', 'POST', 'HEAD', 'PUT', 'DELETE'],
};

describe('order of a walk', () => {
  test('random programs run as the plain list says', async () => {
    let ran = 0;
    await fc.assert(fc.asyncProperty(programs(FULL), requests(FULL), async (program, sent) => {
      bench.listener = waypost(program, bench);
      const outcomes = await bench.ask(sent);
      const reference = new LinearWalker(program);
      sent.forEach((request, i) => {
        const { stoodBack: _, ...wanted } = reference.walk(request);
        const got = outcomes[i] as Outcome;
        ran += wanted.trace.length;
        if (JSON.stringify(got) !== JSON.stringify(request.method === 'HEAD' ? { ...wanted, body: null } : wanted)) expect({ request, ...got }).toEqual({ request, ...wanted });
      });
    }), { numRuns: RUNS });
    expect(ran).toBeGreaterThan(RUNS);
  }, 300_000);

  test('random programs run as in Express, but for what a sibling router takes', async () => {
    const theirs = new Theirs();
    let compared = 0;
    await fc.assert(fc.asyncProperty(programs(SHARED), requests(SHARED), async (program, sent) => {
      bench.listener = waypost(program, bench);
      const ours = await bench.ask(sent);
      bench.listener = theirs.load(program, bench);
      const wanted = await bench.ask(sent);
      const reference = new LinearWalker(program);
      sent.forEach((request, i) => {
        if (reference.walk(request).stoodBack > 0) return;
        compared++;
        if (JSON.stringify(ours[i]) !== JSON.stringify(wanted[i])) expect({ request, ...ours[i] }).toEqual({ request, ...wanted[i] });
      });
    }), { numRuns: RUNS });
    expect(compared).toBeGreaterThan(RUNS * 3);
  }, 300_000);
});
