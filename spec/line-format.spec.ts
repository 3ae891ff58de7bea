import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import pino from 'pino';
import { lineFormat } from '../lib/line-format';
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

/** What a formatter of that directory makes of what pino writes. */
function formatted(write: (logger: pino.Logger) => void, { directory = PLAIN, colours = false } = {}): string {
  const before = process.cwd();
  const [, script] = process.argv;
  try {
    process.chdir(directory);
    process.argv[1] = join(directory, 'program.js');
    const format = lineFormat({ hasColors: () => colours });
    let text = '';
    write(pino({ level: 'trace' }, { write: (line: string) => void (text += format(line)) }));
    return text;
  } finally {
    process.chdir(before);
    process.argv[1] = script ?? '';
  }
}

describe('the plain form', () => {
  test.each(['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const)('begins a line with the time and %s', (level) => {
    expect(formatted((logger) => logger[level]('hello there'))).toMatch(new RegExp(`^\\d\\d:\\d\\d:\\d\\d\\.\\d{3} ${level.toUpperCase().padEnd(5)} hello there\n$`));
  });

  test('shows fields by name, those that need it in quotes', () => {
    const line = formatted((logger) => logger.info({ method: 'GET', url: '/a?b=1', ms: 1.5, none: null, text: 'a b', empty: '', inner: { a: [1] } }, 'Request completed'));
    expect(line.slice(19)).toBe('Request completed method=GET url=/a?b=1 ms=1.5 none=null text="a b" empty="" inner={"a":[1]}\n');
  });

  test('shows the stack of an error beneath, indented, and what else the error holds', () => {
    const error = Object.assign(new Error('broken'), { code: 'EX', cause: new Error('inner') });
    const lines = formatted((logger) => logger.error({ err: error, url: '/' }, 'failed')).trimEnd().split('\n');
    expect(lines[0]!.slice(13)).toBe('ERROR failed url=/ code=EX');
    expect(lines.slice(1).map((line) => line.slice(0, 4))).toEqual(Array<string>(lines.length - 1).fill('    '));
    expect(lines[1]).toBe('    Error: broken');
    expect(lines.some((line) => line.startsWith('    caused by: Error: inner'))).toBe(true);
  });

  test('shows what was thrown and is no error', () => {
    expect(formatted((logger) => logger.error({ err: 'text' }, 'failed')).slice(13)).toBe('ERROR failed err=text\n');
  });

  test('colours the level alone, where the terminal has colours', () => {
    expect(formatted((logger) => logger.error('failed'), { colours: true }).slice(13)).toBe('\x1b[31mERROR\x1b[0m failed\n');
  });

  test('has a line without fields or message, and one that is no JSON', () => {
    expect(formatted((logger) => logger.info({}))).toMatch(/ INFO \n$/);
    expect(lineFormat({ hasColors: () => false })('not\x1bJSON\n')).toBe('not\\u001bJSON\n');
  });
});

describe('what a client has sent', () => {
  const OBEYED = /[\0-\t\v-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  const hostile = fc.oneof(anyCharacter, fc.constantFrom('\n', '\r', '\x1b[2J', '\x9b31m', '\x07', '\x7f', '\u202e', '\u2028', '\\u001b', '"', '12:00:00.000 INFO  forged\n'));
  const text = fc.array(hostile, { maxLength: 8 }).map((parts) => parts.join(''));

  test('stands in its own line, as field, message, name of a field, or within others', () => {
    fc.assert(fc.property(text, (sent) => {
      const line = formatted((logger) => logger.child({ reqId: sent }).info({ url: sent, [`x${sent}`]: { [sent]: [sent] } }, `asked for ${sent}`));
      expect(line.endsWith('\n')).toBe(true);
      expect(line.slice(0, -1)).not.toMatch(/\n/);
      expect(line).not.toMatch(OBEYED);
    }), { numRuns: 500 });
  });

  test('stands indented in the lines of an error', () => {
    fc.assert(fc.property(text, (sent) => {
      const [head = '', ...rest] = formatted((logger) => logger.error({ err: Object.assign(new Error(sent), { sent }) }, 'failed')).slice(0, -1).split('\n');
      expect(head).toMatch(/^\d\d:\d\d:\d\d\.\d{3} ERROR failed sent=/);
      expect(rest.every((line) => line.startsWith('    '))).toBe(true);
      expect([head, ...rest].join('\n')).not.toMatch(OBEYED);
    }), { numRuns: 300 });
  });

  test('reaches pino-pretty without what a terminal obeys', () => {
    fc.assert(fc.property(text, (sent) => {
      const lines = formatted((logger) => logger.child({ reqId: sent }).error({ url: sent, err: new Error(sent), inner: { sent } }, `asked for ${sent}`), { directory: ROOT });
      expect(lines).not.toMatch(OBEYED);
    }), { numRuns: 300 });
  });
});

describe('pino-pretty', () => {
  test('writes where the program has it', () => {
    expect(formatted((logger) => logger.info({ a: 1 }, 'hello'), { directory: ROOT })).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: hello\n {4}a: 1\n$/);
  });

  test('that can not be loaded is gone without', () => {
    expect(formatted((logger) => logger.info('hello'), { directory: BROKEN })).toMatch(/ INFO {2}hello\n$/);
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
  test('in development on a terminal writes lines to be read', async () => {
    const lines = await run('{}');
    expect(lines).toEqual([expect.stringMatching(/ INFO {2}Request completed method=GET url=\/a route=\/a status=200 ms=[\d.]+/), expect.stringMatching(/ INFO {2}the end text="a b"$/)]);
  });

  test('that has pino-pretty writes by it', async () => {
    const directory = join(folder, 'pretty');
    mkdirSync(join(directory, 'node_modules'), { recursive: true });
    writeFileSync(join(directory, 'node_modules/pino-pretty.js'), "exports.prettyFactory = ({ colorize }) => ({ msg }) => `pretty ${colorize} ${msg}\\n`;");
    expect(await run('{}', { directory })).toEqual(['pretty false Request completed', 'pretty false the end']);
  });

  test.each([
    ['in production on a terminal', '{}', { env: 'production' }],
    ['of no environment on a terminal', '{}', { env: '' }],
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
