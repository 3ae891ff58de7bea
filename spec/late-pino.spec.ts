import fc from 'fast-check';
import pino from 'pino';
import { createLogger, LatePino, type LogDestination, type Logger } from '../lib/logger';
import { runs } from './support/runs';

/** What a logger writes when it is called so, but for the time. */
function written(make: (destination: LogDestination) => Logger, call: (logger: Logger) => void): string[] {
  const lines: string[] = [];
  call(make({ write: (line) => void lines.push(line.replace(/"time":\d+/, '"time":0')) }));
  return lines;
}

const ours = (destination: LogDestination): Logger => createLogger({}, destination);
const theirs = (destination: LogDestination): Logger => pino({ level: 'info' }, destination);

const scalar = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.integer(), fc.boolean(), fc.constant(null));
const name = fc.oneof(fc.string(), fc.constantFrom('level', 'time', 'pid', 'hostname', 'msg', 'err', 'error', '__proto__', 'constructor', '1', 'toJSON'));
const value = fc.oneof(scalar, fc.dictionary(name, scalar), fc.array(scalar), fc.constantFrom(undefined, new Error('broken'), new Date(0), new Map(), /a/, () => 1, 1n, { a: { b: undefined } }));

test('a line is what pino writes, whether it is loaded or not', () => {
  fc.assert(fc.property(fc.oneof(fc.dictionary(name, scalar, { maxKeys: 3 }), fc.dictionary(name, value)), fc.option(fc.string({ unit: 'binary' })), fc.constantFrom('debug', 'info', 'error'), (fields, message, level) => {
    const call = (logger: Logger): void => {
      if (message === null) logger[level as 'info'](fields);
      else logger[level as 'info'](fields, message);
    };
    expect(written(ours, call)).toEqual(written(theirs, call));
  }), { numRuns: runs(600) });
});

test('a message alone is what pino writes', () => {
  for (const message of ['', 'standing', '"\n\u2028', '%s %d %%']) expect(written(ours, (logger) => logger.warn(message))).toEqual(written(theirs, (logger) => logger.warn(message)));
});

test('what is said of the level to pino itself counts', () => {
  const lines = written(ours, (logger) => {
    (logger as LatePino).whole.level = 'debug';
    logger.debug('shown');
    (logger as LatePino).whole.level = 'silent';
    logger.fatal('not shown');
  });
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['shown']);
});
