import { createHash } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import express from 'express';
import fc from 'fast-check';
import { type Application, createServer, express as waypostExpress, type Handler, type Request, type RequestSignatureConfig, type Response, signRequest } from 'waypost';
import { Running } from './support/running';
import { runs } from './support/runs';
import { post, Wire } from './support/wire';

const secret = 'an example secret, 32 bytes or more';
const logging = { level: 'silent' } as const;
const running = new Running();

afterAll(() => running.close());

type Next = () => void;
/** What a request's middleware has seen of its body. */
interface Seen { logged: Buffer[] }

/** Lets what has come be read: as a session store, or a lookup, takes a while. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate);
}

/** What middleware of others does with a request in front of an application: none of it reads the body to its end, or keeps it. */
const STEPS: Record<string, (req: IncomingMessage, next: Next, seen: Seen) => void> = {
  lookup: (_req, next) => void someTurns().then(next),
  'held back during a lookup': (req, next) => {
    req.pause();
    void someTurns().then(() => {
      req.resume();
      next();
    });
  },
  'held back until all middleware has begun': (req, next) => {
    req.pause();
    void someTurns().then(() => {
      next();
      req.resume();
    });
  },
  log: (req, next, seen) => {
    req.on('data', (chunk: Buffer) => seen.logged.push(chunk));
    next();
  },
  hash: (req, next) => {
    req.pipe(createHash('sha1'));
    next();
  },
  tee: (req, next) => {
    req.pipe(new PassThrough()).resume();
    next();
  },
};

STEPS['listens behind next'] = (req, next) => {
  next();
  req.on('data', () => undefined);
};

/** Reads what is there, and so takes a part before the application has it. */
STEPS.reader = (req, next) => {
  req.on('readable', () => {
    while (req.read() !== null);
  });
  next();
};

function readsIt(req: Request, res: Response): void {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => void res.type('json').send(Buffer.concat(chunks)));
}

/** Looks at the bytes, but keeps them until it has somewhere to put them. */
function readsItLater(req: Request, res: Response): void {
  let isOpen = false;
  let hasFlowed = false;
  req.pause();
  req.on('data', () => {
    if (!isOpen) hasFlowed = true;
  });
  void someTurns().then(() => {
    isOpen = true;
    const chunks: Buffer[] = [];
    req.pipe(new PassThrough()).on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => void (hasFlowed ? res.status(500).send('flowed while it was paused') : res.type('json').send(Buffer.concat(chunks))));
    req.resume();
  });
}

function signed(requestSignature: RequestSignatureConfig, handler: Handler): Application {
  return createServer({ logging, body: false, security: { requestSignature } }).post('/', handler);
}

/** Whose handlers are called, or read, some time after the body has come. */
const LATER = /later|looked up|takes a while|twice/;

/** What lets a body flow: a handler that reads it by itself some turns later comes too late then, as in Express. */
const FLOWING = Object.keys(STEPS).filter((step) => step !== 'lookup');
const READING = /read by .*(?:later|keeps)|looked up, read|takes a while|twice/;

/** What lets a body flow during its capture: bytes that somebody has by then count as read. */
const AFTER = ['held back until all middleware has begun', 'listens behind next'];

/** Applications that answer with what they have of a body; the first is the oracle. */
const INNER: Record<string, () => express.Express | Application> = {
  Express: () => {
    const app = express().use(express.json());
    app.post('/', (req: { body?: unknown }, res) => void res.json(req.body ?? 'none'));
    app.use((error: Error, _req: unknown, res: express.Response, _next: unknown) => void res.status(400).json(error.message));
    return app;
  },
  'express of waypost': () => waypostExpress({ logging }).use(waypostExpress.json()).post('/', (req, res) => res.json(req.body ?? 'none')),
  createServer: () => createServer({ logging }).post('/', (req, res) => res.json(req.body ?? 'none')),
  signed: () => createServer({ logging, security: { requestSignature: { secret } } }).post('/', (req, res) => res.json(req.body ?? 'none')),
  'signed, read by the handler': () => signed({ secret }, readsIt),
  'signed, read by the handler some promises later': () => signed({ secret }, async (req, res) => {
    for (let turn = 0; turn < 3; turn++) await undefined;
    readsIt(req, res);
  }),
  'signed by a secret that is looked up, read by the handler': () => signed({ secret: () => someTurns().then(() => secret) }, readsIt),
  'signed once, by a store that takes a while, read by the handler': () => signed({ secret, replay: { store: { claim: () => someTurns().then(() => true) } } }, readsIt),
  'signed twice, read by the handler': () => createServer({ logging, body: false, security: { requestSignature: { secret } } }).use(signed({ secret: () => someTurns().then(() => secret) }, readsIt)),
  'signed, read by a handler that keeps it first': () => signed({ secret }, readsItLater),
  'signed by a secret that is looked up, read by a handler that keeps it first': () => signed({ secret: () => someTurns().then(() => secret) }, readsItLater),
};

function bodyOf(length: number): string {
  return JSON.stringify(['b'.repeat(length)]);
}

interface Plan { readonly steps: readonly string[]; readonly length: number; readonly early: number }

async function send(port: number, { length, early }: Plan, atInner: Promise<void>): Promise<string> {
  const body = bodyOf(length);
  const wire = await Wire.open(port);
  const fields = { host: 'a', connection: 'close', 'content-type': 'application/json', 'content-length': String(body.length), ...signRequest({ secret, keyId: 'one', method: 'POST', url: '/', body }) };
  const part = Math.floor(body.length * early);
  wire.write(`POST / HTTP/1.1\r\n${Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body.slice(0, part)}`);
  await atInner;
  wire.write(body.slice(part));
  await wire.end;
  const [, answer = ''] = wire.text.split('\r\n\r\n');
  return `${wire.text.slice(9, 12)} ${answer === body ? 'whole' : answer.slice(0, 60)}`;
}

const plan = fc.record({
  steps: fc.array(fc.constantFrom(...Object.keys(STEPS)), { minLength: 1, maxLength: 4 }),
  length: fc.constantFrom(0, 10, 1000, 50_000, 90_000),
  early: fc.constantFrom(0, 0.3, 0.9, 1),
});

test('whatever middleware in front has begun with a body, who has it whole behind Express has it whole here, and nobody hears a byte twice', async () => {
  const seen: Seen = { logged: [] };
  let steps: readonly string[] = [];
  let wholes = 0;
  let begun: Next = () => undefined;
  const ports = new Map<string, number>();
  for (const [name, make] of Object.entries(INNER)) {
    const around = express();
    around.use((req, _res, next) => {
      const run = (index: number): void => {
        const step = STEPS[steps[index] ?? ''];
        if (step === undefined) next();
        else step(req, () => run(index + 1), seen);
      };
      run(0);
    });
    around.use((_req, _res, next) => {
      next();
      begun();
    }, make() as express.Express);
    ports.set(name, await running.serve(around));
  }
  await fc.assert(fc.asyncProperty(plan, async (given) => {
    ({ steps } = given);
    let oracle = '';
    for (const [name, port] of ports) {
      // A reader in front may have taken all by then, end included.
      if (LATER.test(name) && given.steps.includes('reader')) continue;
      if (READING.test(name) && given.steps.some((step) => FLOWING.includes(step))) continue;
      seen.logged = [];
      const answer = await send(port, given, new Promise<void>((resolve) => (begun = resolve)));
      if (name === 'Express') oracle = answer;
      // A part of a body that was checked must not be taken for one; a reader in front may take all.
      if (name.startsWith('signed')) expect([name, answer]).toEqual([name, expect.stringMatching(/^(200 (whole|"none"|)|401 .*)$/)]);
      if (oracle !== '200 whole' || given.steps.some((step) => step === 'reader' || AFTER.includes(step))) continue;
      wholes++;
      expect([name, answer]).toEqual([name, '200 whole']);
      const whole = bodyOf(given.length);
      const logs = given.steps.filter((step) => step === 'log').length;
      expect([name, Buffer.concat(seen.logged).length]).toEqual([name, logs * whole.length]);
    }
  }), { numRuns: runs(300) });
  // Otherwise it has compared next to nothing.
  expect(wholes).toBeGreaterThan(runs(200));
}, 600_000);

describe('what a handler that is called on the turn of its check takes of the stream, or puts there, goes on to count', () => {
  const ways: Record<string, (req: Request, res: Response) => void> = {
    'resume, kept': (req, res) => {
      let length = 0;
      const sink = new PassThrough({ highWaterMark: 1 });
      sink.on('data', (chunk: Buffer) => (length += chunk.length));
      sink.on('drain', req.resume.bind(req));
      req.on('data', (chunk) => {
        if (!sink.write(chunk)) req.pause();
      }).on('end', () => sink.end());
      sink.on('end', () => void res.send(String(length)));
    },
    'read, of its own': (req, res) => {
      let length = 0;
      const { read } = req;
      req.read = function (this: Request, size?: number): unknown {
        const chunk: unknown = read.call(this, size);
        if (chunk instanceof Buffer) length += chunk.length;
        return chunk;
      } as typeof req.read;
      void someTurns().then(async () => {
        for await (const chunk of req) void chunk;
        res.send(String(length));
      });
    },
    'pause and resume, of its own': (req, res) => {
      let calls = 0;
      const { pause, resume } = req;
      req.pause = () => (calls++, pause.call(req));
      req.resume = () => (calls++, resume.call(req));
      void someTurns().then(() => {
        req.pause().resume().on('data', () => undefined).on('end', () => void res.send(calls >= 2 ? '50000' : `${calls} calls`));
      });
    },
  };

  test.each(Object.entries(ways))('%s', async (_name, handler) => {
    const body = 'b'.repeat(50_000);
    for (const app of [express().post('/', handler as never), signed({ secret }, handler), signed({ secret: async () => Promise.resolve(secret) }, handler), signed({ secret: () => someTurns().then(() => secret) }, handler)]) {
      const headers = signRequest({ secret, keyId: 'one', method: 'POST', url: '/', body });
      expect((await post(await running.serve(app), '/', body, 'text/plain', headers)).body).toBe('50000');
    }
  });
});

describe('a request that was filled before the application has it', () => {
  const body = '{"a":1}';

  /** As tests make them by hand. */
  function made(isComplete: boolean): IncomingMessage {
    const req = new IncomingMessage(new Socket());
    const headers = { 'content-type': 'application/json', 'content-length': '7', ...signRequest({ secret, keyId: 'one', method: 'POST', url: '/', body }) };
    Object.assign(req, { method: 'POST', url: '/', httpVersion: '1.1', headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])), rawHeaders: Object.entries(headers).flat() });
    req.push(body);
    req.push(null);
    if (isComplete) req.complete = true;
    return req;
  }

  /** What an application answers to a request that did not come over a connection. */
  async function answerOf(name: string, req: IncomingMessage): Promise<[status: number, text: string]> {
    const res = new ServerResponse(req);
    let text = '';
    const answered = new Promise<void>((resolve) => {
      res.write = (chunk: Buffer | string) => {
        text += String(chunk);
        return true;
      };
      res.end = ((chunk?: Buffer | string) => {
        text += String(chunk ?? '');
        resolve();
        return res;
      }) as typeof res.end;
    });
    (INNER[name] as () => (req: IncomingMessage, res: ServerResponse) => void)()(req, res);
    await answered;
    return [res.statusCode, text];
  }

  test.each(Object.keys(INNER))('is answered by %s', async (name) => {
    for (const isComplete of [false, true]) {
      const req = made(isComplete);
      expect(await answerOf(name, req)).toEqual([200, body]);
    }
  });

  test('one that gives several pieces for each asking is asked once for each', async () => {
    let asked = 0;
    let offset = 0;
    const whole = bodyOf(5000);
    const req = Object.assign(new Readable({
      read(): void {
        asked++;
        setImmediate(() => {
          for (let piece = 0; piece < 2 && offset < whole.length; piece++) this.push(whole.slice(offset, offset += 500));
          if (offset >= whole.length) this.push(null);
        });
      },
    }), { method: 'POST', url: '/', headers: { 'content-type': 'application/json', 'content-length': String(whole.length) }, httpVersionMajor: 1, socket: new Socket() });
    expect(await answerOf('createServer', req as unknown as IncomingMessage)).toEqual([200, whole]);
    expect(asked).toBeLessThanOrEqual(8);
  });
});
