import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import pino from 'pino';
import { lineFormat } from '../lib/log/line-format';
import { anyCharacter } from './support/any-character';
import { ENVIRONMENT, ROOT } from './support/child-program';

const folder = mkdtempSync(join(tmpdir(), 'waypost-lines-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Where the program has no pino-pretty, one that fails, or a real one. */
const PLAIN = join(folder, 'plain');
const BROKEN = join(folder, 'broken');
mkdirSync(PLAIN);
mkdirSync(join(BROKEN, 'node_modules/pino-pretty'), { recursive: true });
writeFileSync(join(BROKEN, 'node_modules/pino-pretty/index.js'), "throw new Error('of another time');");

/** What formats the lines of a program in that directory. */
function formatter({ directory = ROOT, colours = false } = {}): ReturnType<typeof lineFormat> {
  const before = process.cwd();
  const [, script] = process.argv;
  try {
    process.chdir(directory);
    process.argv[1] = join(directory, 'program.js');
    return lineFormat({ hasColors: () => colours });
  } finally {
    process.chdir(before);
    process.argv[1] = script ?? '';
  }
}

/** What it makes of what pino writes. */
function formatted(write: (logger: pino.Logger) => void, options: Parameters<typeof formatter>[0] = {}): string {
  const format = formatter(options);
  let text = '';
  write(pino({ level: 'trace' }, { write: (line: string) => void (text += format(line)) }));
  return text;
}

describe('what a client has sent', () => {
  const OBEYED = /[\0-\t\v-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  const hostile = fc.oneof(anyCharacter, fc.constantFrom('\n', '\r', '\x1b[2J', '\x9b31m', '\x07', '\x7f', '\u202e', '\u2028', '\\u001b', '"', '12:00:00.000 INFO  forged\n'));
  const text = fc.array(hostile, { maxLength: 8 }).map((parts) => parts.join(''));

  test.each([
    ['pino-pretty', ROOT, /^\[[\d:.]+\] ERROR: asked for /],
    ['waypost itself', PLAIN, /^error: asked for /],
  ])('is shown by %s without what a terminal obeys, and forges no line', (_, directory, shape) => {
    fc.assert(fc.property(text, (sent) => {
      const shown = formatted((logger) => logger.child({ reqId: sent }).error({ url: sent, [`x${sent}`]: { [sent]: [sent] }, err: new Error(sent) }, `asked for ${sent}`), { directory });
      expect(shown).not.toMatch(OBEYED);
      expect(shown.trimEnd().split('\n').filter((line) => !line.startsWith('    '))).toEqual([expect.stringMatching(shape)]);
    }), { numRuns: 300 });
  });
});

describe('pino-pretty', () => {
  test('writes where the program has it, in colours where the terminal has them', () => {
    const write = (logger: pino.Logger): void => logger.info({ a: 1 }, 'hello');
    expect(formatted(write)).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: hello\n {4}a: 1\n$/);
    expect(formatted(write, { colours: true })).toContain('\x1b[32mINFO\x1b[39m');
  });

  test.each([PLAIN, BROKEN])('that a program does not have, or can not load, is gone without', (directory) => {
    const write = (logger: pino.Logger): void => {
      logger.info({ a: 1, b: { c: 'd' } }, 'hello');
      logger.error({ err: Object.assign(new Error('broken'), { stack: 'Error: broken\n    at one' }) });
    };
    expect(formatted(write, { directory })).toBe('info: hello a=1 b={"c":"d"}\nerror: broken\n    Error: broken\n        at one\n');
  });
});

/** Runs a program with a terminal for its standard output, a pseudo one of the system's, or with a pipe; answers what came out. */
async function run(options: string, { terminal = true, directory = PLAIN, env = 'development' } = {}): Promise<string[]> {
  const program = join(directory, 'program.js');
  writeFileSync(program, `
    const { createServer } = require(${JSON.stringify(join(ROOT, 'lib/index'))});
    const app = createServer({ server: { host: '127.0.0.1' }, logging: { requests: true }, ...${options} });
    app.get('/a', (req, res) => res.send('fine'));
    app.inject('/a').then(() => app.log.info({ text: 'a b' }, 'the end'));`);
  const node = [process.execPath, '-r', join(ROOT, 'spec/support/transpiled.cjs'), program];
  const [command = '', ...args] = terminal ? ['python3', '-c', 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)', ...node] : node;
  const child = spawn(command, args, { cwd: directory, env: { ...ENVIRONMENT, NODE_ENV: env, NO_COLOR: '1', FORCE_COLOR: undefined }, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await Promise.race([once(child, 'close'), once(child, 'error').then(([error]) => { throw new Error('this spec needs python3 for a terminal', { cause: error }); })]);
  rmSync(program);
  return text.trimEnd().split(/\r?\n/);
}

const isJson = (line: string): boolean => line.startsWith('{"level":');

describe('a program', () => {
  test('in development on a terminal writes by pino-pretty', async () => {
    const directory = join(folder, 'pretty');
    mkdirSync(join(directory, 'node_modules'), { recursive: true });
    writeFileSync(join(directory, 'node_modules/pino-pretty.js'), "exports.prettyFactory = ({ colorize }) => ({ msg }) => `pretty ${colorize} ${msg}\\n`;");
    expect(await run('{}', { directory })).toEqual(['pretty false Request completed', 'pretty false the end']);
  });

  test.each([
    ['in development', { env: 'development' }],
    ['of no environment', { env: '' }],
  ])('%s on a terminal, without pino-pretty, writes text by itself', async (_, how) => {
    expect(await run('{}', how)).toEqual([expect.stringMatching(/^info: Request completed method="GET" url="\/a" /), 'info: the end text="a b"']);
  });

  test.each([
    ['in production on a terminal', '{}', { env: 'production' }],
    ['of no environment without a terminal', '{}', { env: '', terminal: false }],
    ['in development without a terminal', '{}', { terminal: false }],
    ["whose option says production, on a developer's terminal", "{ env: 'production' }", {}],
  ] as const)('%s writes JSON', async (_, options, how) => {
    const lines = await run(options, how);
    expect(lines).toHaveLength(2);
    expect(lines.every(isJson)).toBe(true);
  });

  test('with a logger of its own has it write', async () => {
    const pinoPath = JSON.stringify(require.resolve('pino'));
    expect((await run(`{ logging: { requests: true, logger: require(${pinoPath})() } }`)).every(isJson)).toBe(true);
  });
});

test('pino-pretty is none of the dependencies', () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, Record<string, string>>;
  expect(Object.keys({ ...dependencies, ...peerDependencies })).not.toContain('pino-pretty');
});
