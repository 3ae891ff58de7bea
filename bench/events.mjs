/**
 * Server-sent events to 1,000 clients that read as fast as they can: events a second of waypost, Fastify with @fastify/sse and
 * Hono's streamSSE, in turns, each in a process of its own. `npm run bench:events`, options: rounds, seconds, clients.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(import.meta.url);

/** Events without end; each framework writes id and data by its own means. */
async function* events() {
  for (let id = 0; ; id++) yield { id: String(id), data: { at: id, text: 'a price has changed' } };
}

/** Servers by name; each answers /events, and tells its port. */
const SERVERS = {
  async waypost() {
    const { createServer } = createRequire(import.meta.url)('../dist/index.js');
    const app = createServer({ logging: { level: 'silent' } });
    app.get('/events', (req, res) => res.events(events()));
    return (await app.start(0, '127.0.0.1')).address().port;
  },
  async fastify() {
    const [{ default: Fastify }, { default: sse }] = await Promise.all([import('fastify'), import('@fastify/sse')]);
    const app = Fastify();
    await app.register(sse);
    app.get('/events', { sse: 'only' }, (request, reply) => reply.sse.send(events()));
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server.address().port;
  },
  async hono() {
    const [{ serve }, { Hono }, { streamSSE }] = await Promise.all([import('@hono/node-server'), import('hono'), import('hono/streaming')]);
    const app = new Hono();
    app.get('/events', (c) => streamSSE(c, async (stream) => {
      for await (const { id, data } of events()) {
        if (stream.aborted) return;
        await stream.writeSSE({ id, data: JSON.stringify(data) });
      }
    }));
    return new Promise((resolve) => serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port)));
  },
};

/** Events that came within the seconds, behind one second of warm-up. */
async function count(name, clients, seconds) {
  const server = fork(FILE, ['serve', name]);
  const [port] = await once(server, 'message');
  let events = 0;
  const sockets = Array.from({ length: clients }, () => connect(port, '127.0.0.1').on('error', () => undefined).on('data', (chunk) => {
    // Each event ends with an empty line, and holds none.
    for (let at = chunk.indexOf('\n\n'); at !== -1; at = chunk.indexOf('\n\n', at + 2)) events++;
  }));
  for (const socket of sockets) socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n');
  const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
  await pause(1000);
  const [before, from] = [events, performance.now()];
  await pause(seconds * 1000);
  const rate = (events - before) / (performance.now() - from) * 1000;
  for (const socket of sockets) socket.destroy();
  server.kill('SIGKILL');
  return rate;
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

if (process.argv[2] === 'serve') process.send(await SERVERS[process.argv[3]]());
else {
  const [rounds = 9, seconds = 2, clients = 1000] = process.argv.slice(2).map(Number);
  const names = Object.keys(SERVERS);
  const rates = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) rates[name].push(await count(name, clients, seconds));
  }
  console.log(`Node ${process.versions.node}, ${clients} clients, ${rounds} rounds of ${seconds} s: events a second, and times as many as waypost serves of each`);
  for (const name of names) {
    const ratios = rates.waypost.map((rate, round) => rate / rates[name][round]).sort((a, b) => a - b);
    console.log(`${name}: ${Math.round(median(rates[name])).toLocaleString('en')} /s, ${median(ratios).toFixed(2)} (${ratios[0].toFixed(2)}-${ratios.at(-1).toFixed(2)})`);
  }
}
