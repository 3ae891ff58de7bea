import bodyParser from 'body-parser';
import express from 'express';
import fc from 'fast-check';
import { parse } from 'node:querystring';
import { parseForm, parseQuery } from '../lib/http/query';
import { expectSame } from './support/expect-same';
import { Running } from './support/running';
import { runs } from './support/runs';
import { ask, post } from './support/wire';
import { workOf } from './support/work-meter';

const FORM = 'application/x-www-form-urlencoded';
const running = new Running();

afterEach(() => running.close());

const COUNTS = [2, 999, 1000, 1001, 5000];
const fields: Readonly<Record<string, (count: number) => string>> = {
  'names of their own': (count) => Array.from({ length: count }, (_, index) => `n${index}=${index}`).join('&'),
  'one name': (count) => Array.from({ length: count }, (_, index) => `n=${index}`).join('&'),
  'names alone': (count) => Array.from({ length: count }, (_, index) => `n${index}`).join('&'),
  'empty ones': (count) => '&'.repeat(count - 1),
  'empty ones, and one': (count) => `${'&'.repeat(count - 1)}a=1`,
  'empty ones behind one': (count) => `a=1${'&'.repeat(count - 1)}`,
};

/** What both servers answer to a form and to a query. */
function sides(): Promise<readonly [own: number, oracle: number]> {
  const theirs = express().set('query parser', 'simple');
  theirs.get('/', (req, res) => void res.json(req.query));
  theirs.post('/', bodyParser.urlencoded({ extended: false }), (req, res) => void res.json(req.body));
  theirs.use(((error: { status: number }, _req, res, _next) => void res.status(error.status).json({ error: 'Payload Too Large' })) satisfies express.ErrorRequestHandler);
  return Promise.all([
    running.app((app) => {
      app.get('/', (req, res) => res.json(req.query));
      app.post('/', (req, res) => res.json(req.body));
    }, { server: { maxHeaderSize: 65_536 } }),
    running.serve(theirs as never),
  ]);
}

describe.each(Object.entries(fields))('%s', (_, make) => {
  test('a form of more than 1,000 fields is refused, as by body-parser', async () => {
    const [own, oracle] = await sides();
    for (const count of COUNTS) {
      const [ours, theirs] = await Promise.all([own, oracle].map((port) => post(port, '/', make(count), FORM)));
      expect(ours?.status).toBe(count > 1000 ? 413 : 200);
      expect(ours?.status).toBe(theirs?.status);
      if (count <= 1000) expect(ours?.json).toEqual(theirs?.json);
      else expect(ours?.json).toEqual({ error: 'Payload Too Large', message: 'The form holds more than 1,000 fields' });
    }
  });

  test('of a query the first 1,000 are read, as by Express', async () => {
    const [own, oracle] = await sides();
    for (const count of COUNTS.filter((each) => make(each).length < 16_000)) {
      const [ours, theirs] = await Promise.all([own, oracle].map((port) => ask(port, `/?${make(count)}`)));
      expect([ours?.status, theirs?.status]).toEqual([200, 200]);
      expect(ours?.json).toEqual(theirs?.json);
    }
  });
});

test('fields are counted, not parsed: what is past the bound costs nothing', () => {
  const form = Array.from({ length: 100_000 }, (_, index) => index.toString(36)).join('&');
  expect(workOf(() => expect(() => parseForm(form)).toThrow('more than 1,000 fields'))).toBeLessThan(50_000);
  expect(Object.keys(parseQuery(form))).toHaveLength(1000);
  expect(workOf(() => parseQuery(form))).toBeLessThan(50_000);
});

test('a plus is a space wherever it stands, an escaped one a plus', () => {
  expect(parseQuery('a+b=c+d%2B+&+=+&e=f')).toEqual({ 'a b': 'c d+ ', ' ': ' ', 'e': 'f' });
});

describe('a flat text', () => {
  const lenient = (text: string): string => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const piece = fc.oneof(
    fc.constantFrom('a', '=', '&', '+', '%', '%41', '%c3%a9', '%C3', '%ED%A0%80', '%C0%80', '%F0%9F%98%80', '%F4%90%80%80', '%zz', '%2', '%26', '%3D', '%2B', '%00', '\u00e9', '\u{1f600}', '\ud800', 'constructor', '__proto__', '%5f_proto__'),
    fc.string({ maxLength: 4 }),
  );

  test('is read as Node reads it, but for malformed escapes, which stay, and __proto__', () => {
    fc.assert(fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom(1, 1, 400), (pieces, times) => {
      const text = pieces.join('').repeat(times);
      const expected = { ...parse(text.replaceAll('+', ' '), '&', '=', { maxKeys: 1000, decodeURIComponent: lenient }) };
      delete expected['__proto__'];
      if (text.split('&').length <= 1000) expectSame(JSON.stringify(parseQuery(text)), JSON.stringify(expected), text.slice(0, 200));
    }), { numRuns: runs(2000) });
  });

  test.each(['%41', '%C3%A9', '+', 'a+', '%', '%zz', 'a', '='])('is left to the engine: a megabyte of %s takes as many calls as a short text', (unit) => {
    const calls = (length: number): number => {
      const spies = (['slice', 'indexOf', 'charCodeAt', 'charAt', 'replace', 'replaceAll', 'split'] as const).map((name) => jest.spyOn(String.prototype, name));
      spies.push(jest.spyOn(String, 'fromCharCode') as never);
      parseForm(`a=${unit.repeat(length / unit.length)}&b=${unit.repeat(8)}`);
      const count = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
      jest.restoreAllMocks();
      return count;
    };
    expect(calls(1_048_576)).toBeLessThan(calls(64) + 8);
  });
});
