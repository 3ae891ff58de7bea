import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import pino from 'pino';
import { LOG_LEVELS, LatePino, checkLogger, createLogger, type LogLevel, type Logger } from '../lib/log/logger';
import { FROM_LIB } from './support/child-program';

const METHODS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/** The messages that a logger of that level writes when every method is called once, named as the method. */
function written(level: LogLevel | undefined): string[] {
  const lines: string[] = [];
  const logger = createLogger(level === undefined ? {} : { level }, { write: (line) => void lines.push(line) });
  for (const method of METHODS) logger[method](method);
  return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
}

describe('the built-in logger', () => {
  test.each(LOG_LEVELS.map((level, index) => [level, METHODS.slice(index)] as const))('at level %s writes %j', (level, expected) => {
    expect(written(level)).toEqual(expected);
  });

  test('writes from info up by default', () => {
    expect(written(undefined)).toEqual(['info', 'warn', 'error', 'fatal']);
  });

  test('writes fields and message as one line of JSON', () => {
    const lines: string[] = [];
    createLogger({}, { write: (line) => void lines.push(line) }).error({ err: new Error('broken'), route: '/a' }, 'failed');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 50, msg: 'failed', route: '/a', err: { message: 'broken' } });
  });

  test('writes what pino writes, whatever the fields are called', () => {
    for (const [fields, message] of [[{ 2: 'b', a: 1, toJSON: 1, ['__proto__']: null }, '%s "\n\u2028'], [{ a: undefined, list: [1n, new Map()] }, undefined], [new Error('broken'), 'why']] as const) {
      const [ours, theirs] = [createLogger, pino].map((make) => {
        const lines: string[] = [];
        (make as typeof createLogger)({}, { write: (line: string) => void lines.push(line.replace(/"time":\d+/, '"time":0')) }).warn(fields, message);
        return lines;
      });
      expect(ours).toEqual(theirs);
      expect(ours).toHaveLength(1);
    }
  });

  test('follows what is said of the level to pino itself', () => {
    const lines: string[] = [];
    const logger = createLogger({}, { write: (line) => void lines.push(line) }) as LatePino;
    logger.whole.level = 'debug';
    logger.debug('shown');
    logger.whole.level = 'silent';
    logger.fatal('not shown');
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['shown']);
  });

  test('writes to standard output, and has written when the process exits at once', () => {
    const program = "require('./lib/log/logger').createLogger().info('standing'); process.exit(0)";
    const { stdout, status } = spawnSync(process.execPath, [...FROM_LIB, '-e', program], {
      cwd: join(__dirname, '..'),
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ level: 30, msg: 'standing' });
  });
});

describe('a given logger', () => {
  class Recorder implements Logger {
    readonly calls: string[] = [];
    level = 'error';
    trace(): void { this.calls.push('trace'); }
    debug(): void { this.calls.push('debug'); }
    info(): void { this.calls.push('info'); }
    warn(): void { this.calls.push('warn'); }
    error(): void { this.calls.push('error'); }
    fatal(): void { this.calls.push('fatal'); }
  }

  test('is used as it is, its level untouched', () => {
    const given = new Recorder();
    const logger = createLogger({ level: 'debug', logger: given });
    expect(logger).toBe(given);
    expect(given.level).toBe('error');
    logger.info('x');
    expect(given.calls).toEqual(['info']);
  });

  test('may be a function that has the methods', () => {
    const given = Object.assign(() => undefined, Object.fromEntries(METHODS.map((method) => [method, () => undefined])));
    expect(checkLogger(given, 'logging.logger')).toBe(given);
  });

  test.each(METHODS)('without the method %s is refused, and told so', (method) => {
    const given: Record<string, unknown> = Object.fromEntries(METHODS.filter((name) => name !== method).map((name) => [name, () => undefined]));
    given[method] = 'not a function';
    expect(() => checkLogger(given, 'logging.logger')).toThrow(
      new TypeError(`logging.logger must have the methods trace, debug, info, warn, error, fatal as pino has them; it lacks ${method}`),
    );
  });

  test.each([[null], [1], ['pino'], [true], [{}], [[]]])('%j is none', (given) => {
    expect(() => checkLogger(given, 'logging.logger')).toThrow(TypeError);
  });
});
