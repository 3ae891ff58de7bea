import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer, type CreateServerOptions, type Logger } from 'waypost';
import { Body, type Kind } from './bodies';

/*
 * The server of all drills, in a process of its own. Given the options of createServer as JSON, and a folder for the
 * files it sends, it tells its parent its port, and its counts whenever it is asked. It catches nothing: what it did not survive ends it.
 */

/** What has been, and what is there. */
export interface Counts {
  readonly requests: number;
  /** Handlers of signed routes that ran. */
  readonly passed: number;
  readonly errors: number;
  /** Responses that are still in memory, as far as the collector has told. */
  readonly responses: number;
  /** Asynchronous handlers that have not come to their end. */
  readonly handlers: number;
  readonly connections: number;
  /** Open files and sockets of the process; 0 where the system does not tell. */
  readonly descriptors: number;
  /** Bytes read off closed connections. */
  readonly read: number;
  /** Bytes of the heap, and of buffers beside it. */
  readonly memory: number;
  /** Most resident memory so far, in bytes. */
  readonly peak: number;
}

const CHUNK = Buffer.alloc(65_536, 'x');

const counts = { requests: 0, collected: 0, passed: 0, errors: 0, handlers: 0, read: 0 };
const responses = new FinalizationRegistry<undefined>(() => {
  counts.collected++;
});
const ignore = (): void => undefined;
const logger: Logger = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: () => counts.errors++, fatal: ignore, level: 'warn' };
const [, , given = '{}', folder = '.'] = process.argv;
const options = JSON.parse(given) as CreateServerOptions;
const app = createServer({ ...options, logging: { logger } });

app.use((_req, res, next) => {
  counts.requests++;
  responses.register(res, undefined);
  next();
});

app.get('/ok', (_req, res) => res.send('ok'));

app.get('/body/:kind/:size/:seed', (req, res) => {
  const { kind, size, seed } = req.params;
  const body = new Body(kind as Kind, Number(size), Number(seed));
  if (kind === 'json') res.json(body.data);
  else if (kind === 'xJson') res.xJson(body.data);
  else if (kind === 'send') res.type('text/plain').send(body.bytes);
  else {
    const name = `${size}-${seed}`;
    if (!existsSync(join(folder, name))) writeFileSync(join(folder, name), body.bytes);
    res.sendFile(name, { root: folder });
  }
});

/** Writes as fast as the client reads, as a handler by hand would. */
app.get('/stream/:chunks', async (req, res) => {
  counts.handlers++;
  try {
    for (let left = Number(req.params.chunks); left > 0 && !res.destroyed; left--) {
      if (!res.write(CHUNK)) await drained(res);
    }
    res.end();
  } finally {
    counts.handlers--;
  }
});

const streams = new Set<ServerResponse>();

/** Streams that beat until their client leaves, or another ends all. */
app.get('/events', (_req, res) => {
  streams.add(res);
  res.type('text/event-stream').write(': open\n\n');
  const timer = setInterval(() => res.write(': beat\n\n'), 500);
  res.once('close', () => {
    clearInterval(timer);
    streams.delete(res);
  });
});
app.get('/events/end', (_req, res) => {
  for (const stream of streams) stream.end();
  res.send('ended');
});

/** What stands for a login. */
app.use('/private', (_req, res) => res.status(401).send('log in'));
app.post('/private/notes', (req, res) => res.json(req.body));

app.get('/wait/:time', async (req, res) => {
  counts.handlers++;
  try {
    await delay(Number(req.params.time));
    res.json({ waited: req.params.time });
  } finally {
    counts.handlers--;
  }
});

app.on('upgrade', (_req, socket) => socket.destroy());

app.post('/read', (req, res) => res.json({ read: req.rawBody?.length, text: typeof req.body === 'string' ? req.body.length : undefined }));

app.post('/signed', (_req, res) => {
  counts.passed++;
  res.send('passed');
});

/** Until a response takes more, or its client is gone. */
async function drained(res: ServerResponse): Promise<void> {
  const stop = new AbortController();
  try {
    await Promise.race([once(res, 'drain', stop), once(res, 'close', stop)]);
  } finally {
    stop.abort();
  }
}

/** `maxRSS` begins, where a process is made by vfork, with what its parent had. */
function peak(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024;
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
}

async function count(): Promise<Counts> {
  // What the collector has found it tells a turn later, and of what closed in this turn not at once.
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.();
    await delay(10);
  }
  const { heapUsed, external } = process.memoryUsage();
  const { requests, collected, ...rest } = counts;
  return {
    ...rest, requests,
    responses: requests - collected,
    connections: await new Promise<number>((resolve) => app.server?.getConnections((_error, found) => resolve(found))),
    descriptors: process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0,
    memory: heapUsed + external,
    peak: peak(),
  };
}

process.on('message', () => void count().then((counted) => process.send?.(counted)));

void app.start(0, '127.0.0.1').then((server) => {
  server.on('connection', (socket: Socket) => socket.once('close', () => (counts.read += socket.bytesRead)));
  process.send?.({ port: (server.address() as AddressInfo).port });
  // A parent that listens is no reason to stay.
  process.channel?.unref();
});
