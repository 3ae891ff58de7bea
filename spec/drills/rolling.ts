import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { signRequest } from 'waypost';
import { RedisServer } from '../redis/redis-server';
import { ChildProgram } from '../support/child-program';
import { freePorts } from '../support/free-ports';
import { crowd, type Drill, type Figures, hold, mebibytes } from './drill';
import { Nginx } from './nginx';

const SECRET = 'correct horse battery staple 0123456789';
/** Loopback too, but not the address that nginx has itself. */
const CLIENT = '127.0.0.2';

interface Told {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Clients without a pause; each request is answered whole, or counted as lost. */
class Load {
  readonly lost: string[] = [];
  answered = 0;
  /** Of kept connections that nginx had closed, sent once more (RFC 9112 section 9.3.1). */
  again = 0;
  #isOver = false;
  readonly #port: number;
  readonly #clients: Promise<unknown>;

  constructor(port: number, size: number) {
    this.#port = port;
    this.#clients = crowd(size, (index) => (index % 2 === 0 ? this.#keeps() : this.#pays()));
  }

  end(): Promise<unknown> {
    this.#isOver = true;
    return this.#clients;
  }

  /** Asks on a connection that is kept. */
  async #keeps(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!this.#isOver) await this.#count(() => this.#ask({ agent }));
    agent.destroy();
  }

  async #ask(options: { agent: Agent }): Promise<Told> {
    const sent = request({ host: '127.0.0.1', port: this.#port, path: '/work', ...options });
    sent.end();
    try {
      return await answerTo(sent);
    } catch (error) {
      if (!sent.reusedSocket) throw error;
      this.again++;
      return this.#ask(options);
    }
  }

  /** Sends what must not be sent twice, on a connection of its own. */
  async #pays(): Promise<void> {
    while (!this.#isOver) await this.#count(() => pay(this.#port, signed()));
  }

  async #count(send: () => Promise<Told>): Promise<void> {
    try {
      const { status, body } = await send();
      if (status === 200 && typeof body['pid'] === 'number') this.answered++;
      else this.lost.push(`${status} ${JSON.stringify(body)}`);
    } catch (error) {
      this.lost.push((error as Error).message);
    }
  }
}

async function answerTo(sent: ReturnType<typeof request>): Promise<Told> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const isJson = response.headers['content-type']?.startsWith('application/json') === true;
  if (!isJson) response.resume();
  return { status: response.statusCode ?? 0, body: isJson ? (await json(response)) as Record<string, unknown> : {} };
}

interface Payment {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

function signed(): Payment {
  const body = JSON.stringify({ payment: randomUUID() });
  return { body, headers: { ...signRequest({ secret: SECRET, method: 'POST', url: '/pay', body }), 'Content-Type': 'application/json', 'Content-Length': String(body.length) } };
}

function pay(port: number, { body, headers }: Payment): Promise<Told> {
  const sent = request({ host: '127.0.0.1', port, path: '/pay', method: 'POST', agent: false, headers });
  sent.end(body);
  return answerTo(sent);
}

function start(port: number, redis: RedisServer): Promise<ChildProgram> {
  return ChildProgram.serve('spec/drills/fleet-program.ts', { NODE_OPTIONS: '--require ./spec/support/transpiled.cjs', PORT: String(port), REDIS_SOCKET: redis.socket, SECRET });
}

/** What the processes believe of a client behind nginx, whatever it says of itself. @throws Error when it is not the truth. */
async function checkProxy(port: number): Promise<void> {
  const sent = request({ host: '127.0.0.1', port, path: '/where', agent: false, localAddress: CLIENT, headers: { 'X-Forwarded-For': '1.2.3.4', 'X-Forwarded-Proto': 'https', 'X-Request-Id': 'forged' } });
  sent.end();
  const { body: { ip, protocol, id } } = await answerTo(sent);
  hold(ip === CLIENT && protocol === 'http', `a client at ${CLIENT} is taken for ${String(ip)} by ${String(protocol)}`);
  hold(typeof id === 'string' && /^[0-9a-f]{32}$/.test(id), `the request has the id ${String(id)}, which is not nginx's`);
}

/** Signatures that were used at one process, sent to the other, and through nginx. @throws Error when one is let through again. */
async function checkReplays(ports: readonly number[], count: number): Promise<void> {
  await crowd(count, async (index) => {
    const payment = signed();
    const [first, ...others] = index % 2 === 0 ? ports : [...ports].reverse();
    hold((await pay(first as number, payment)).status === 200, 'a signature is refused at its first use');
    for (const port of others) {
      const { status } = await pay(port, payment);
      hold(status === 401, `a signature that was used at one process is answered by ${status} at the other`);
    }
  });
}

function peakOf(pid: unknown): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1]) * 1024;
}

async function roll(fleet: ChildProgram[], ports: readonly number[], restarts: number, nginx: Nginx, redis: RedisServer): Promise<void> {
  for (let round = 0; round < restarts; round++) {
    const index = round % fleet.length;
    const port = ports[index] as number;
    await nginx.reload(port);
    const { code, errors, output } = await (fleet[index] as ChildProgram).stop();
    hold(code === 0, `a process ended with ${String(code)}: ${output}${errors}`);
    fleet[index] = await start(port, redis);
    await nginx.reload(undefined);
  }
}

export const rolling: Drill = {
  name: 'rolling',
  load: '60 clients of nginx before two processes with one Redis, half with signed POSTs, while the processes are restarted 10 times in turn',
  async run(extent): Promise<Figures> {
    const [clients, restarts, replays] = extent === 'whole' ? [60, 10, 200] : [16, 2, 20];
    const redis = await RedisServer.start();
    const [port = 0, ...ports] = await freePorts(3);
    const fleet = await Promise.all(ports.map((one) => start(one, redis)));
    let nginx: Nginx | undefined;
    try {
      nginx = await Nginx.start(port, ports);
      await checkProxy(port);
      await checkReplays([...ports, port], replays);
      const used = signed();
      hold((await pay(port, used)).status === 200, 'a signature is refused at its first use');
      const load = new Load(port, clients);
      await roll(fleet, ports, restarts, nginx, redis);
      await load.end();
      hold(load.lost.length === 0, `${load.lost.length} of ${load.lost.length + load.answered} requests were lost: ${[...new Set(load.lost)].slice(0, 5).join('; ')}; nginx says ${nginx.errors.slice(0, 500)}`);
      hold((await pay(port, used)).status === 401, 'a signature that was used before all was restarted is let through again');
      const { body: { pid } } = await answerTo(request({ host: '127.0.0.1', port, path: '/where', agent: false }).end());
      const peak = peakOf(pid);
      return {
        outcome: `${load.answered.toLocaleString('en')} of ${load.answered.toLocaleString('en')} requests answered through ${restarts} restarts; ${load.again} sent again on connections that nginx had closed; ${replays} of ${replays} signatures refused at the other process`,
        left: `${ports.length} processes as before`, peak: mebibytes(peak),
      };
    } finally {
      await nginx?.stop();
      await Promise.all(fleet.map((program) => program.stop()));
      await redis.close();
    }
  },
};
