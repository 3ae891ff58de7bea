import fc from 'fast-check';
import pino from 'pino';
import { express } from 'waypost';
import { createLogger, type Logger } from '../lib/log/logger';
import type { LogDestination } from '../lib/log/standard-output';
import { Running } from './support/running';
import { runs } from './support/runs';
import { post } from './support/wire';

function lineOf(make: (destination: LogDestination) => Logger, error: unknown): string {
  const lines: string[] = [];
  make({ write: (line) => void lines.push(line) }).error({ err: error }, 'failed');
  expect(lines).toHaveLength(1);
  return (lines[0] as string).replace(/"time":\d+/, '"time":0');
}

const ours = (error: unknown): string => lineOf((destination) => createLogger({}, destination), error);
const theirs = (error: unknown): string => lineOf((destination) => pino({}, destination), error);

class Coded extends Error {
  constructor(message: string, fields: object) {
    super(message);
    this.name = 'Coded';
    Object.assign(this, fields);
  }
}

class Caused extends Error {
  readonly #inner: unknown;

  constructor(message: string, inner: unknown) {
    super(message);
    this.#inner = inner;
  }

  override cause = undefined;

  get inner(): unknown {
    return this.#inner;
  }
}
Object.defineProperty(Caused.prototype, 'inner', { enumerable: true });

const text = fc.string({ unit: 'binary', maxLength: 8 });
const name = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('code', 'status', 'name', 'cause', 'errors', 'type', 'aggregateErrors'));

/** Errors, and what else may be thrown, with what they carry. */
const { error, value } = fc.letrec<{ error: unknown; value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' }, text, fc.double(), fc.boolean(), fc.constantFrom(undefined, null, () => 1, Symbol('s'), new Date(0), new Date(NaN), new Map([[1, 2]]), /a/, Buffer.from('few'), new Uint16Array(3), { toJSON: () => 'given' }),
    fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(name, tie('value'), { maxKeys: 3 }), tie('error'),
  ),
  error: fc.oneof(
    { depthSize: 'small' },
    text.map((message) => new TypeError(message)),
    fc.tuple(text, fc.dictionary(name, tie('value'), { maxKeys: 3 })).map(([message, fields]) => new Coded(message, fields)),
    fc.tuple(text, tie('value')).map(([message, cause]) => new Error(message, { cause })),
    fc.tuple(text, tie('value')).map(([message, cause]) => Object.assign(new Error(message), { cause: () => cause })),
    fc.tuple(text, fc.array(tie('value'), { maxLength: 3 })).map(([message, errors]) => new AggregateError(errors, message)),
    fc.tuple(text, tie('value')).map(([message, at]) => ({ message, at })),
  ),
}));

/** Shows by an accessor of its class what only itself has. */
const caused = fc.tuple(text, value).map(([message, inner]) => new Caused(message, inner));

const { stackTraceLimit } = Error;

beforeAll(() => {
  // Those of a generator's are longer than a line holds.
  Error.stackTraceLimit = 3;
});

afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

test('an error is written with what pino writes of it', () => {
  fc.assert(fc.property(fc.oneof(error, caused, value), (each) => {
    let wanted: string;
    try {
      wanted = theirs(each);
    } catch (failure) {
      expect(() => ours(each)).toThrow((failure as Error).constructor as ErrorConstructor);
      return;
    }
    // Of what has circles or BigInts pino sorts the fields.
    expect(JSON.parse(ours(each))).toEqual(JSON.parse(wanted));
  }), { numRuns: runs(1_000) });
});

test('of circles each is written once', () => {
  const error = new Error('outer');
  const list: unknown[] = [1];
  list.push(list);
  Object.assign(error, { self: error, list, inner: Object.assign(new Error('inner'), { outer: error }) });
  expect(JSON.parse(ours(error))).toEqual(JSON.parse(theirs(error)));
});

const MANY = 20_000;

/** What says by itself how much it carries: of some a client decides. */
const LARGE: Readonly<Record<string, () => unknown>> = {
  'errors of a list': () => new AggregateError(Array.from({ length: MANY }, (_, i) => new Error(`member ${i}`)), 'all failed'),
  'a tree of errors': () => tree(5),
  'errors in errors': () => Object.assign(new Error('outer'), Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`inner${i}`, new Error('inner')]))),
  'a list of findings': () => Object.assign(new Error('invalid'), { details: Array.from({ length: MANY }, (_, i) => ({ path: ['items', i], message: 'must be a number' })) }),
  'many members': () => Object.assign(new Error('invalid'), { fields: Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`field${i}`, 'missing'])) }),
  'wide and deep data': () => Object.assign(new Error('invalid'), { data: wide(6) }),
  'a long text': () => Object.assign(new Error('invalid'), { body: '\u0000'.repeat(10 * MANY) }),
  'a long message': () => new Error('x'.repeat(100 * MANY)),
  'a long list of causes': () => Array.from({ length: 2_000 }).reduce<Error>((cause) => new Error('outer', { cause }), new Error('inner')),
  'bytes': () => Object.assign(new Error('invalid'), { body: Buffer.alloc(100 * MANY) }),
  'numbers': () => Object.assign(new Error('invalid'), { samples: new Float64Array(MANY) }),
  'what makes a long list of itself': () => Object.assign(new Error('invalid'), { query: { toJSON: () => Array.from({ length: MANY }, () => 'row') } }),
  'a long name': () => Object.assign(new Error('invalid'), { name: 'x'.repeat(100 * MANY) }),
  'a long name of no error': () => ({ message: 'invalid', name: { of: 'x'.repeat(100 * MANY) } }),
  'a long name of a member': () => Object.assign(new Error('invalid'), { errors: { ['x'.repeat(100 * MANY)]: 1 } }),
  'many names of members': () => Object.assign(new Error('invalid'), { errors: Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`${i}${'x'.repeat(MANY)}`, 1])) }),
  'a long BigInt': () => Object.assign(new Error('invalid'), { id: -(10n ** 100_000n) }),
  'a function that is thrown': () => Object.assign(() => 1, { message: 'x'.repeat(100 * MANY) }),
  'a function that is taken for an error': () => Object.assign(new Error('invalid'), { inner: Object.assign(() => 1, { message: 'x'.repeat(100 * MANY) }) }),
  'many names that an error inherits': () => Object.assign(Object.create(Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`field${i}`, 'missing']))) as object, { message: 'invalid' }),
  'what toJSON makes of an error': () => Object.assign(new Error('invalid'), { toJSON: () => ({ message: 'invalid', rows: Array.from({ length: MANY }, () => 'row') }) }),
  'no error': () => ({ rows: Array.from({ length: MANY }, () => ({ id: 1, name: 'row' })) }),
};

function tree(depth: number): Error {
  return depth === 0 ? new Error('leaf') : new AggregateError(Array.from({ length: 8 }, () => tree(depth - 1)), 'branch');
}

function wide(depth: number): unknown {
  return depth === 0 ? 'leaf' : Array.from({ length: 9 }, () => wide(depth - 1));
}

test.each(Object.keys(LARGE))('a line of an error holds no more than a line should: %s', (name) => {
  const line = ours((LARGE[name] as () => unknown)());
  expect(line.length).toBeGreaterThan(200);
  expect(line.length).toBeLessThan(700_000);
  expect(JSON.parse(line)).toMatchObject({ msg: 'failed' });
});

/** Hides its other members, as errors of clients for other services do that hold what they have sent. */
class Upstream extends Error {
  constructor(fields: object) {
    super('upstream');
    Object.assign(this, { authorization: 'hidden', ...fields });
  }
}
Object.assign(Upstream.prototype, { toJSON(this: Error) { return { message: this.message, status: 502 }; } });

class Secret extends String {
  toJSON(): string {
    return '***';
  }
}

const fails = {
  toJSON() {
    throw new Error('of toJSON');
  },
};
const HIDING: Readonly<Record<string, () => unknown>> = {
  'little': () => new Upstream({}),
  'a long text': () => new Upstream({ sent: 'x'.repeat(200_000) }),
  'ten long texts': () => new Upstream({ sent: Array.from({ length: 10 }, () => 'x'.repeat(10_000)) }),
  'many members': () => new Upstream(Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`field${i}`, 1]))),
  'a cause': () => new Error('outer', { cause: new Upstream({}) }),
  'members that hide theirs': () => Object.assign(new Error('outer'), { inner: new Upstream({}), config: { password: 'hidden', toJSON: () => 'config' } }),
  'members that fail to': () => Object.assign(new Error('outer'), { user: { password: 'hidden', ...fails } }),
  'members that fail to beside some that hide theirs': () => Object.assign(new Error('outer'), { config: { password: 'hidden', toJSON: () => 'config' }, user: fails }),
  'a getter that throws beside': () => Object.defineProperty(new Upstream({ note: 1 }), 'broken', { enumerable: true, get: fails.toJSON }),
  'a list of them': () => new AggregateError(Array.from({ length: 120 }, () => new Upstream({ sent: 'x'.repeat(2_000) }))),
  'a text of a class of its own': () => Object.assign(new Error('login failed'), { password: new Secret('hidden') }),
  'a text that shows otherwise': () => Object.assign(new Error('login failed'), { password: Object.assign(new String('hidden'), { toString: () => '***' }) }),
  'a number that hides': () => Object.assign(new AggregateError([Object.assign(new Number(3), { hidden: 1, toJSON: () => '***' })]), {}),
  'many errors that are hidden': () => Object.assign(new AggregateError(Array.from({ length: 60 }, () => new Error('hidden'.repeat(300))), 'hidden'), { toJSON: () => ({ hid: true }) }),
  'a long cause that is hidden': () => Object.assign(new Error('hidden', { cause: new AggregateError(Array.from({ length: 12 }, () => new Error('hidden'.repeat(1_500)))) }), { toJSON: () => ({ hid: true }) }),
  'a function that hides': () => Object.assign(new Error('outer'), { handler: Object.assign(() => 1, { hidden: 1, toJSON: () => 'handler' }) }),
  'a toJSON of its own that fails': () => Object.assign(new Error('outer'), { authorization: 'hidden' }, fails),
};

test.each(Object.keys(HIDING))('what toJSON hides stays hidden, whatever an error holds: %s', async (name) => {
  const running = new Running();
  const written: string[] = [];
  const app = express({ logging: { logger: createLogger({}, { write: (line) => void written.push(line) }) } });
  app.use(() => {
    throw (HIDING[name] as () => unknown)();
  });
  expect((await post(await running.serve(app), '/', '')).status).toBe(500);
  await running.close();
  expect(written.join('')).toContain('"err"');
  expect(written.join('')).not.toContain('hidden');
});

test('what toJSON makes is written, and asked for no more', () => {
  const options = { password: 'secret', host: 'h', toJSON(this: object): unknown { return Object.fromEntries(Object.entries(this).filter(([name]) => name !== 'password')); } };
  const outer = Object.assign(new Error('outer'), { options, named: { toJSON: (name: string) => `as ${name}` }, list: [{ toJSON: (name: string) => `as ${name}` }] });
  const whole = Object.assign(new Error('whole'), { rows: 1, toJSON(this: Error): unknown { return { ...this, message: this.message }; } });
  const large = Object.assign(new Error('large'), { rows: Array.from({ length: 100 }, () => 'x'.repeat(2_000)), toJSON(this: Error): unknown { return { message: this.message }; } });
  for (const each of [outer, whole, large]) expect(ours(each)).toBe(theirs(each));
});

test('what is called body is left out, and BigInts are text', () => {
  const { err } = JSON.parse(ours(Object.assign(new Error('invalid', { cause: Object.assign(new Error('inner'), { body: 'hunter2' }) }), { body: 'hunter2', sent: { body: 'hunter2' }, id: 10n ** 30n }))) as { err: object };
  expect(err).toMatchObject({ message: 'invalid: inner', sent: {}, id: `1${'0'.repeat(30)}` });
  expect(JSON.stringify(err)).not.toContain('hunter2');
});

test('what is left out is counted', () => {
  const { err } = JSON.parse(ours(Object.assign(new AggregateError(Array.from({ length: 150 }, () => new Error('member')), 'all'), { code: 'ALL', note: 'x'.repeat(10_003) }))) as { err: { aggregateErrors: unknown[]; code: string; note: string } };
  expect([err.aggregateErrors.length, err.aggregateErrors.at(-1), err.code]).toEqual([100, '... 51 more', 'ALL']);
  expect(err.note.slice(-22)).toBe('x... 3 more characters');
});

test('a request whose handler fails for each member of its body writes a short line', async () => {
  const running = new Running();
  const written: string[] = [];
  const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  try {
    const app = express({ env: 'production' });
    app.use(express.json({ limit: '1mb' }));
    app.post('/', async (req, res) => void res.json(await Promise.any((req.body as number[]).map(async (id) => Promise.reject(new Error(`no ${id}`))))));
    expect((await post(await running.serve(app), '/', JSON.stringify(Array.from({ length: MANY }, () => 0)))).status).toBe(500);
  } finally {
    write.mockRestore();
    await running.close();
  }
  const lines = written.join('');
  expect(lines).toContain('aggregateErrors');
  expect(lines.length).toBeLessThan(400_000);
});
