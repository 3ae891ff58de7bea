import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ENVIRONMENT, ROOT } from './support/child-program';
import { fences, read } from './support/document';
import { ask, Wire } from './support/wire';

const DOCUMENT = read('docs/production.md');
const FENCES = fences(DOCUMENT);

function fence(language: string): string {
  const found = FENCES.find((one) => one.language === language);
  if (found === undefined) throw new Error(`docs/production.md shows no ${language}`);
  return found.text;
}

/** A handler that a spec can leave unanswered, and what else it does not change. */
const HELD = `app.get('/held', async (req, res) => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  res.send('held');
});

app.on('close',`;

const folder = mkdtempSync(join(tmpdir(), 'waypost-recipe-'));
const children: ChildProcess[] = [];

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('the recipes run on the build: npm run build (npm test does so)');
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/waypost'));
  writeFileSync(join(folder, 'server.mjs'), fence('js').replace("app.on('close',", HELD));
  writeFileSync(join(folder, 'cluster.mjs'), fence('javascript'));
});

afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Line {
  readonly msg: string;
  readonly pid: number;
  readonly address?: { port: number };
  readonly url?: string;
}

/** A program of the document under a plain supervisor, which reads its log. */
class Program {
  readonly lines: Line[] = [];
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  #text = '';
  #heard: () => void = () => undefined;

  constructor(file: string, environment: NodeJS.ProcessEnv) {
    this.child = spawn(process.execPath, [file], { cwd: folder, env: { ...ENVIRONMENT, PORT: '0', ...environment }, stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(this.child);
    this.ended = once(this.child, 'close').then(([code]) => code as number | null);
    this.child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const parts = (this.#text + chunk).split('\n');
      this.#text = parts.pop() ?? '';
      this.lines.push(...parts.map((line) => JSON.parse(line) as Line));
      this.#heard();
    });
    void this.ended.then(() => this.#heard());
  }

  /** Waits for so many lines of a message. */
  async until(message: string, count = 1): Promise<Line[]> {
    for (;;) {
      const found = this.lines.filter(({ msg }) => msg.startsWith(message));
      if (found.length >= count) return found;
      if (this.child.exitCode !== null) throw new Error(`the program has ended: ${JSON.stringify(this.lines)}`);
      await new Promise<void>((resolve) => { this.#heard = resolve; });
    }
  }

  async port(): Promise<number> {
    return (await this.until('The server has started'))[0]?.address?.port ?? 0;
  }
}

describe('the program to start from', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('on %s is not ready, goes on answering, drains, and ends with 0', async (signal) => {
    const program = new Program('server.mjs', { DRAIN_WAIT: '600' });
    const port = await program.port();
    expect((await ask(port, '/readyz')).status).toBe(200);
    // Asked on a connection that is kept: it drains as well.
    const wire = await Wire.open(port);
    wire.write('GET /held HTTP/1.1\r\nHost: h\r\n\r\n');
    program.child.kill(signal);
    while ((await ask(port, '/readyz')).status === 200);
    expect([(await ask(port, '/healthz')).status, (await ask(port, '/hello/Ada')).json]).toEqual([200, { hello: 'Ada' }]);
    await wire.until(/held$/);
    await wire.end;
    expect(await program.ended).toBe(0);
    expect(program.lines.at(-1)?.msg).toBe('The server has stopped');
    await expect(ask(port, '/readyz')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('logs a request as the page says', async () => {
    const program = new Program('server.mjs', { DRAIN_WAIT: '0' });
    const port = await program.port();
    await ask(port, '/hello/Ada?page=1', { headers: { 'x-request-id': 'abc' } });
    const [line] = await program.until('Request completed');
    expect(line).toEqual({
      level: 30, time: expect.any(Number), pid: program.child.pid, hostname: expect.any(String), msg: 'Request completed',
      reqId: 'abc', method: 'GET', url: '/hello/Ada?page=1', route: '/hello/:name', status: 200, ms: expect.any(Number), bytes: expect.any(Number),
    });
    expect(await program.until('A guest')).toEqual([expect.objectContaining({ reqId: 'abc', name: 'Ada' })]);
    const table = DOCUMENT.split('## What the log says')[1] ?? '';
    for (const field of ['reqId', 'method', 'url', 'route', 'status', 'ms', 'bytes', 'address', 'err']) expect(table).toContain(`\`${field}\``);
    program.child.kill('SIGTERM');
    expect(await program.ended).toBe(0);
  });
});

describe('node:cluster', () => {
  test('restarts its processes in turn on SIGHUP without losing a request, replaces one that crashes, and ends with 0', async () => {
    const program = new Program('cluster.mjs', { DRAIN_WAIT: '50' });
    const port = await program.port();
    await program.until('The server has started');
    let isOver = false;
    const answers: number[] = [];
    const client = (async () => {
      while (!isOver) answers.push((await ask(port, '/hello/Ada')).status);
    })();
    const before = await workers(program);
    program.child.kill('SIGHUP');
    await program.until('The server has stopped', before.size);
    isOver = true;
    await client;
    expect(answers.length).toBeGreaterThan(0);
    expect(new Set(answers)).toEqual(new Set([200]));
    const after = await workers(program, before);
    expect(after.size).toBe(before.size);
    const started = program.lines.filter(({ msg }) => msg.startsWith('The server has started')).length;
    process.kill([...after][0]!, 'SIGKILL');
    await program.until('The server has started', started + 1);
    program.child.kill('SIGTERM');
    expect(await program.ended).toBe(0);
    // Five processes start one after another.
  }, 90_000);
});

/** The processes that have started, but for those of before. */
async function workers(program: Program, but: ReadonlySet<number> = new Set()): Promise<ReadonlySet<number>> {
  const all = await program.until('The server has started', availableParallelism() + but.size);
  return new Set(all.map(({ pid }) => pid).filter((pid) => !but.has(pid)));
}

describe('the times of the recipes', () => {
  const [, wait = ''] = /DRAIN_WAIT \?\? (\d+)/.exec(fence('js')) ?? [];
  const [, timeout = ''] = /close\(\{ timeout: ([\d_]+) \}\)/.exec(fence('js')) ?? [];
  const longest = (Number(wait) + 2 * Number(timeout.replaceAll('_', ''))) / 1000;

  test('the page says how long the program may take', () => {
    expect(longest).toBe(25);
    expect(DOCUMENT).toContain(`has gone after ${longest} s at the latest`);
  });

  test.each([
    ['Kubernetes', /terminationGracePeriodSeconds: (\d+)/, 1], ['systemd', /TimeoutStopSec=(\d+)/, 1], ['pm2', /"kill_timeout": (\d+)/, 1000], ['docker', /docker stop --time (\d+)/, 1],
  ] as const)('%s waits longer', (_, pattern, unit) => {
    const [, given = ''] = pattern.exec(DOCUMENT) ?? [];
    expect(Number(given) / unit).toBeGreaterThan(longest);
  });

  test('connections are kept longer here than at nginx', () => {
    const [, here = ''] = /keepAliveTimeout: ([\d_]+)/.exec(fence('js')) ?? [];
    const [, there = ''] = /keepalive_timeout (\d+)s/.exec(fence('nginx')) ?? [];
    expect(Number(here.replaceAll('_', ''))).toBeGreaterThan(Number(there) * 1000);
  });

  test('the files of pm2 can be read, and start the program', () => {
    expect((JSON.parse(fence('json')) as { apps: { script: string }[] }).apps.map(({ script }) => script)).toEqual(['server.mjs']);
    expect(fence('ini')).toContain('server.mjs');
    expect(fence('dockerfile')).toContain('CMD ["node", "server.mjs"]');
  });
});
