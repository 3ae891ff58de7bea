/** What RFC 9110 and RFC 9112 say a server must answer 400 to, or reject: a row of the document's table for each. */
import { createServer as createNodeServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Application, createServer, express } from 'waypost';
import { ROOT } from './support/child-program';
import { Running } from './support/running';
import { Wire } from './support/wire';

const running = new Running();
afterAll(() => running.close());

const get = (target: string, version = '1.1', ...fields: string[]): string => `GET ${target} HTTP/${version}\r\n${['Host: a', ...fields].map((field) => `${field}\r\n`).join('')}\r\n`;
const post = (body: string, version: string, ...fields: string[]): string => `POST / HTTP/${version}\r\n${['Host: a', ...fields].map((field) => `${field}\r\n`).join('')}\r\n${body}`;
const coded = (coding: string, version = '1.1'): string => post('1\r\na\r\n0\r\n\r\n', version, `Transfer-Encoding: ${coding}`);
const sized = (length: string): string => post('a', '1.1', `Content-Length: ${length}`);
const chunked = (body: string): string => post(body, '1.1', 'Transfer-Encoding: chunked');

/** By the first words of a row, what is sent. */
const SENT: Record<string, readonly string[]> = {
  'HTTP/1.1 without Host': ['GET / HTTP/1.1\r\n\r\n'],
  'more than one Host': [get('/', '1.1', 'Host: a'), get('/', '1.1', 'host: b'), get('/', '1.0', 'Host: a')],
  'a Host that is no host': ['', 'a/b', 'u@a', 'a b', '[::1', 'a:x'].map((host) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
  'a target with an empty host': ['http:///x', 'http://:80/x', 'http://', 'https:///', 'http://a b/', 'http://[::1/', 'http://h:x/', 'http://?a', 'ws:///x'].map((target) => get(target)),
  'user information in a target': [get('http://u@h/'), get('http://u:p@h/x'), get('http://@h/')],
  'a request line that is none': [get('/ x'), get('/').replace('HTTP/1.1', 'HTTQ/1.1'), get('/').replace('GET', 'G(T'), get('/\x01'), get('/\r'), get('a')],
  "white space between a field's name and its colon": [get('/', '1.1', 'X : 1'), get('/', '1.1', 'X\t: 1'), 'GET / HTTP/1.1\r\nHost : a\r\n\r\n'],
  'white space before the first field': ['GET / HTTP/1.1\r\n X: 1\r\nHost: a\r\n\r\n'],
  'a folded field': [get('/', '1.1', 'X: 1\r\n 2'), get('/', '1.1', 'X: 1\r\n\t2')],
  "CR or NUL in a field's value": [get('/', '1.1', 'X: a\rb'), get('/', '1.1', 'X: a\0b')],
  'a line that ends in LF alone': [get('/').replaceAll('\r\n', '\n'), get('/', '1.1', 'X: a\nY: b')],
  "a field's name that is no token": [get('/', '1.1', 'X(: a'), get('/', '1.1', 'X'), get('/', '1.1', ': a')],
  'a Transfer-Encoding whose last coding is not `chunked`': ['identity', 'xchunked', 'gzip', 'chunked, gzip', 'chunked, identity'].map((coding) => coded(coding)),
  'a Transfer-Encoding in HTTP/1.0': [coded('chunked', '1.0'), coded('gzip, chunked', '1.0'), coded('gzip', '1.0')],
  'another coding before `chunked`': [coded('gzip, chunked'), coded('x, chunked')],
  'Transfer-Encoding and Content-Length': [post('0\r\n\r\n', '1.1', 'Transfer-Encoding: chunked', 'Content-Length: 5'), post('0\r\n\r\n', '1.1', 'Content-Length: 5', 'Transfer-Encoding: chunked')],
  'a Content-Length that is no number': ['x', '-1', '+1', '', '1, 2', '1, 1', '0x1', '1.0', '9'.repeat(30)].map(sized),
  'two Content-Length': [post('a', '1.1', 'Content-Length: 1', 'Content-Length: 1'), post('ab', '1.1', 'Content-Length: 1', 'Content-Length: 2')],
  'a chunk whose size is no number': ['z\r\na\r\n0\r\n\r\n', '-1\r\na', `${'f'.repeat(17)}\r\na`, '1\r\nab\r\n0\r\n\r\n', '1 \r\na\r\n0\r\n\r\n'].map(chunked),
  CONNECT: ['CONNECT a: HTTP/1.1\r\nHost: a\r\n\r\n', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'],
};

interface Row {
  readonly words: string;
  readonly status: string;
}

const [, table = ''] = /<!-- table: refused -->\n\|.*\n\|.*\n((?:\|.*\n)+)/.exec(readFileSync(join(ROOT, 'docs/requests-and-responses.md'), 'utf8')) ?? [];
const rows: Row[] = table.trimEnd().split('\n').map((row) => row.split(' | ')).map(([words = '', , status = '']) => ({ words: words.slice(2), status: status.replace(' |', '') }));

/** Whatever a handler was given; one that reads the body answers only when that has come whole. */
const heard: string[] = [];
function register(app: Application): Application {
  return app.use((req, res) => {
    req.on('end', () => {
      heard.push(`${req.method} ${req.originalUrl}`);
      res.send('answered');
    });
    req.on('error', () => undefined);
    req.resume();
  });
}
const quiet = { env: 'test', logging: { level: 'silent' } } as const;

describe.each<[string, () => Promise<number>]>([
  ['createServer()', () => running.start(register(createServer(quiet)))],
  ['express()', () => running.start(register(express(quiet)))],
  ['an application behind a server of the program\'s', () => running.listen(createNodeServer(register(createServer(quiet))))],
])('%s', (_, start) => {
  let port: number;
  beforeAll(async () => { port = await start(); });

  test('answers what is well-formed', async () => {
    for (const text of [get('/', '1.1', 'Connection: close'), get('http://a/x', '1.1', 'Connection: close'), get('http://[::1]:80?x', '1.1', 'Connection: close'), get('*', '1.1', 'Connection: close'), chunked('1\r\na\r\n0\r\n\r\n').replace('Host', 'Connection: close\r\nHost')]) {
      expect([text, await Wire.tell(port, text)]).toEqual([text, expect.stringMatching(/^HTTP\/1\.1 200 /)]);
    }
    heard.length = 0;
  });

  test.each(rows)('$words: $status', async ({ words, status }) => {
    const [, sent = []] = Object.entries(SENT).find(([start]) => words.startsWith(start)) ?? [];
    expect(sent).not.toEqual([]);
    for (const text of sent) {
      heard.length = 0;
      // What stands behind it is not carried out: the connection is closed.
      const answer = await Wire.tell(port, `${text}${text.endsWith('\n\n') ? '' : get('/second')}`);
      // Node itself refuses the first, and goes on.
      if (words.startsWith('HTTP/1.1 without')) heard.length = 0;
      expect({ text, statuses: [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code), heard }).toEqual({ text, statuses: status === 'none' ? [] : [status], heard: [] });
    }
  });
});

test('the table has a row for each of them, and no other', () => {
  expect(rows.map(({ words }) => Object.keys(SENT).find((start) => words.startsWith(start)))).toEqual(Object.keys(SENT));
});
