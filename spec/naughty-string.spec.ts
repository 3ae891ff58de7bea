import pino from 'pino';
import { createServer } from 'waypost';
import { Running } from './support/running';
import { ask, post } from './support/wire';

/** Strings that programs get wrong: taken for other values, for markup, for paths, or cut, folded and escaped on their way. */
const STRINGS: readonly string[] = [
  'undefined', 'null', 'NaN', 'true', '0', '-0', '1e1000', '0x1F', '9007199254740993', '00', '1/0', '+', ' ', '\t', '\n', '\r\n', '\v\f', '\u0000', 'a\u0000b', '\u0007\u001b[31mred\u001b[0m', '\u007f\u0080\u009f',
  '"', '\'', '\\', '\\"', '`', '${1}', '{{1}}', '%', '%25', '%00', '%c0%ae', '%u0041', '&', '=', 'a=b&c=d', ';', '#', '?', '/', '//', '..', '../../etc/passwd', '.', '~', '*', ':id', '**', '(a)',
  '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__', 'a[__proto__][b]', '<script>alert(1)</script>', '--><svg onload=alert(1)>', '\']);x//', '; DROP TABLE users', '$(touch x)', '=1+1',
  'é', 'e\u0301', 'ñ', 'ß', 'İ', 'ı', 'K', 'ſ', '田中', '表ポあA', 'שלום', 'مرحبا', '\u202e\u202dleft', '\u200b\u200d\ufeff', '\ufeffbom', '\u2028\u2029', '👩‍👩‍👧', '🇺🇳', '𝒳', '\ufffd', '\uffff', '\udbff\udfff', 'Z͑ͫ̓a', 'ﬃ', '１２', 'x'.repeat(2_000),
];

/** What JSON alone can carry: half of a pair. */
const HALVES: readonly string[] = ['\ud800', 'a\udc00b', '\udc00\ud800'];

const running = new Running();
const lines: string[] = [];
let port = 0;

beforeAll(async () => {
  const app = createServer({ env: 'test', logging: { logger: pino({ level: 'info' }, { write: (line) => void lines.push(line) }) } });
  app.use((req, _res, next) => {
    app.log.info({ told: req.headers['x-text'], query: req.query['q'] }, String(req.query['q']));
    next();
  });
  app.get('/p/:text', (req, res) => res.set('X-Text', encodeURIComponent(req.params.text)).json({ text: req.params.text }));
  app.get('/w/**', (req, res) => res.json({ text: req.params['**'] }));
  app.get('/q', (req, res) => res.json(req.query));
  app.get('/h', (req, res) => res.set('X-Text', String(req.headers['x-text'])).end());
  app.get('/x/:text', (req, res) => res.xJson({ text: req.params.text }));
  app.get('/s/:text', (req, res) => res.type('text').send(req.params.text));
  app.post('/b', (req, res) => res.json({ body: req.body as unknown }));
  port = await running.start(app);
});

afterAll(() => running.close());

describe.each(STRINGS.map((text) => [JSON.stringify(text).slice(0, 60), text]))('%s', (_, text) => {
  const encoded = encodeURIComponent(text);

  test('comes through a parameter, and back in JSON, in xJson, as text and in a header', async () => {
    const { json, headers } = await ask(port, `/p/${encoded}`);
    expect([json, decodeURIComponent(String(headers['x-text']))]).toEqual([{ text }, text]);
    expect((await ask(port, `/x/${encoded}`)).json).toEqual({ text });
    expect((await ask(port, `/s/${encoded}`)).body).toBe(text);
  });

  test('comes through a wildcard, its slashes as they were sent', async () => {
    expect((await ask(port, `/w/${encoded}`)).json).toEqual({ text: text.replaceAll('/', '%2F') });
  });

  test('comes through a query, as a value and as a name, and is one line of the log', async () => {
    lines.length = 0;
    expect((await ask(port, `/q?q=${encoded}`)).json).toEqual({ q: text });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^[^\n]*\n$/);
    expect(JSON.parse(lines[0] as string)).toMatchObject({ query: text, msg: text });
    // A name that would reach a prototype is dropped.
    const { body } = await ask(port, `/q?n${encoded}=1`);
    expect(JSON.parse(body)).toEqual({ [`n${text}`]: '1' });
  });

  test('comes through JSON and a form, as a value and as a name', async () => {
    expect((await post(port, '/b', JSON.stringify({ text, list: [text], [`n${text}`]: 1 }))).json).toEqual({ body: { text, list: [text], [`n${text}`]: 1 } });
    expect((await post(port, '/b', JSON.stringify(text))).json).toEqual({ body: text });
    expect((await post(port, '/b', `text=${encoded}`, 'application/x-www-form-urlencoded')).json).toEqual({ body: { text } });
    expect((await post(port, '/b', text, 'text/plain; charset=utf-8')).json).toEqual({ body: text.replace(/^\ufeff/, '') });
  });
});

test.each(HALVES.map((text) => [JSON.stringify(text), text]))('%s comes through JSON', async (_, text) => {
  expect((await post(port, '/b', JSON.stringify({ text }))).json).toEqual({ body: { text } });
});

test.each(['plain', 'caf\xe9', '\xff\xfe', '"quoted, with; signs=" <x>', '%0d%0aX: y', '\\r\\n'])('%j comes through a header, and back', async (text) => {
  const { headers } = await ask(port, '/h', { headers: { 'X-Text': text } });
  expect(headers['x-text']).toBe(text);
});
