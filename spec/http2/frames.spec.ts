import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import {
  ACK, asking, block, COMPRESSION_ERROR, CONTINUATION, data, DATA, END_HEADERS, END_STREAM, type Fields, FLOW_CONTROL_ERROR, frame, FrameClient, FRAME_SIZE_ERROR, GOAWAY, headers, HEADERS, INTERNAL_ERROR, PADDED, ping, PING, PREFACE, PRIORITY, PROTOCOL_ERROR, PUSH_PROMISE, reset, RST_STREAM, settings, SETTINGS, STREAM_CLOSED, uint32, windowUpdate, WINDOW_UPDATE, WITH_PRIORITY,
} from '../support/http2-frames';
import { Running } from '../support/running';

const running = new Running();
let port: number;

beforeAll(async () => {
  port = await running.app((app) => {
    app.all('/', (req, res) => res.send(String(req.rawBody ?? '')));
    app.get('/open', (_req, res) => void res.write('open'));
  }, { server: { http2: 'cleartext' } });
});
afterAll(() => running.close());

const ANSWERED = 'answered 200';
const stream = (...codes: number[]): string[] => codes.map((code) => `stream error ${code}`);
/** Node says INTERNAL_ERROR of many. The end of a connection may come before its GOAWAY is read. */
const connection = (...codes: number[]): string[] => [...[...codes, INTERNAL_ERROR].map((code) => `connection error ${code}`), 'closed'];
const without = (name: string): Fields => asking('/').filter(([other]) => other !== name);
const withField = (name: string, value: string): Buffer => headers(1, asking('/', { fields: [[name, value]] }));
const posting = (...fields: Fields): Buffer => headers(1, asking('/', { method: 'POST', fields: [['content-type', 'text/plain'], ...fields] }), END_HEADERS);

/** Cases of RFC 9113: section, what is sent behind preface and settings, what may come of the first stream. */
const CASES: readonly (readonly [section: string, what: string, frames: readonly Buffer[], expected: readonly string[]])[] = [
  ['4.1', 'a frame of an unknown type is ignored', [frame(22, 0, 0, 'whatever'), headers(1, asking('/'))], [ANSWERED]],
  ['4.1', 'unknown flags are ignored', [frame(PING, 0xfe & ~ACK, 0, '12345678'), headers(1, asking('/'))], [ANSWERED]],
  ['4.1', 'the reserved bit is ignored', [frame(HEADERS, END_HEADERS | END_STREAM, 0x80000001, block(asking('/')))], [ANSWERED]],
  ['4.2', 'a frame of 16,384 bytes is taken', [posting(), data(1, Buffer.alloc(16_384, 'a')), data(1, '', END_STREAM)], [ANSWERED]],
  ['4.2', 'a longer frame', [posting(), data(1, Buffer.alloc(16_385))], connection(FRAME_SIZE_ERROR)],
  ['4.2', 'a longer HEADERS frame', [frame(HEADERS, 5, 1, Buffer.alloc(16_385))], connection(FRAME_SIZE_ERROR)],
  ['4.3', 'a header block that cannot be read', [frame(HEADERS, 5, 1, Buffer.from([0x80]))], connection(COMPRESSION_ERROR)],
  ['4.3', 'another frame within a header block', [headers(1, asking('/'), END_STREAM), ping()], connection(PROTOCOL_ERROR)],
  ['4.3', 'HEADERS of another stream within a header block', [headers(1, asking('/'), END_STREAM), headers(3, asking('/'))], connection(PROTOCOL_ERROR)],
  ['5.1', 'DATA on an idle stream', [data(1, 'a', END_STREAM)], connection(PROTOCOL_ERROR)],
  ['5.1', 'RST_STREAM on an idle stream', [reset(1)], connection(PROTOCOL_ERROR)],
  ['5.1', 'WINDOW_UPDATE on an idle stream', [windowUpdate(1, 1)], connection(PROTOCOL_ERROR)],
  ['5.1', 'PRIORITY on an idle stream', [frame(PRIORITY, 0, 3, Buffer.alloc(5)), headers(1, asking('/'))], [ANSWERED]],
  ['5.1', 'DATA on a half-closed stream', [headers(1, asking('/open')), data(1, 'a', END_STREAM)], [ANSWERED, ...stream(STREAM_CLOSED), ...connection(STREAM_CLOSED)]],
  ['5.1', 'HEADERS on a half-closed stream', [headers(1, asking('/open')), headers(1, asking('/'))], [ANSWERED, ...stream(STREAM_CLOSED), ...connection(STREAM_CLOSED)]],
  ['5.1.1', 'a stream with an even number', [headers(2, asking('/'))], connection(PROTOCOL_ERROR)],
  ['5.3', 'a stream that depends on itself is served: priorities are no more', [frame(HEADERS, END_HEADERS | END_STREAM | WITH_PRIORITY, 1, Buffer.concat([uint32(1), Buffer.from([1]), block(asking('/'))]))], [ANSWERED, ...stream(PROTOCOL_ERROR), ...connection(PROTOCOL_ERROR)]],
  ['5.5', 'an unknown setting is ignored', [settings([0xff, 1]), headers(1, asking('/'))], [ANSWERED]],
  ['6.1', 'DATA on the connection', [data(0, 'a')], connection(PROTOCOL_ERROR)],
  ['6.1', 'DATA with padding', [posting(), frame(DATA, END_STREAM | PADDED, 1, Buffer.from([2, 97, 0, 0]))], [ANSWERED]],
  ['6.1', 'DATA with more padding than there is', [posting(), frame(DATA, END_STREAM | PADDED, 1, Buffer.from([9, 97, 0, 0]))], connection(PROTOCOL_ERROR)],
  ['6.2', 'HEADERS on the connection', [headers(0, asking('/'))], connection(PROTOCOL_ERROR)],
  ['6.2', 'HEADERS with padding', [frame(HEADERS, END_HEADERS | END_STREAM | PADDED, 1, Buffer.concat([Buffer.from([3]), block(asking('/')), Buffer.alloc(3)]))], [ANSWERED]],
  ['6.2', 'HEADERS with more padding than there is', [frame(HEADERS, END_HEADERS | END_STREAM | PADDED, 1, Buffer.from([9, 0x82]))], connection(PROTOCOL_ERROR)],
  ['6.2', 'HEADERS with a priority', [frame(HEADERS, END_HEADERS | END_STREAM | WITH_PRIORITY, 1, Buffer.concat([uint32(0), Buffer.from([15]), block(asking('/'))]))], [ANSWERED]],
  ['6.3', 'PRIORITY on the connection, which later versions of Node ignore', [frame(PRIORITY, 0, 0, Buffer.alloc(5)), headers(1, asking('/'))], [ANSWERED, ...connection(PROTOCOL_ERROR)]],
  ['6.4', 'RST_STREAM on the connection', [reset(0)], connection(PROTOCOL_ERROR)],
  ['6.4', 'RST_STREAM of a wrong length', [headers(1, asking('/'), END_HEADERS), frame(RST_STREAM, 0, 1, 'abc')], connection(FRAME_SIZE_ERROR)],
  ['6.5', 'SETTINGS on a stream', [frame(SETTINGS, 0, 1)], connection(PROTOCOL_ERROR)],
  ['6.5', 'SETTINGS of a wrong length', [frame(SETTINGS, 0, 0, 'abc')], connection(FRAME_SIZE_ERROR)],
  ['6.5', 'an acknowledgement with settings', [frame(SETTINGS, ACK, 0, Buffer.alloc(6))], connection(FRAME_SIZE_ERROR)],
  ['6.5.2', 'ENABLE_PUSH beyond 1', [settings([2, 2])], connection(PROTOCOL_ERROR)],
  ['6.5.2', 'INITIAL_WINDOW_SIZE beyond 2^31-1', [settings([4, 2 ** 31])], connection(FLOW_CONTROL_ERROR)],
  ['6.5.2', 'MAX_FRAME_SIZE below 16,384', [settings([5, 16_383])], connection(PROTOCOL_ERROR)],
  ['6.5.2', 'MAX_FRAME_SIZE beyond 2^24-1', [settings([5, 2 ** 24])], connection(PROTOCOL_ERROR)],
  ['6.6', 'PUSH_PROMISE of a client', [frame(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([uint32(2), block(asking('/'))]))], connection(PROTOCOL_ERROR)],
  ['6.7', 'PING on a stream', [frame(PING, 0, 1, '12345678')], connection(PROTOCOL_ERROR)],
  ['6.7', 'PING of a wrong length', [frame(PING, 0, 0, '1234567')], connection(FRAME_SIZE_ERROR)],
  ['6.7', 'an unasked acknowledgement: Node ends the session', [ping('12345678', ACK)], connection()],
  ['6.8', 'GOAWAY on a stream', [frame(GOAWAY, 0, 1, Buffer.alloc(8))], connection(PROTOCOL_ERROR)],
  ['6.9', 'WINDOW_UPDATE of 0 on the connection', [windowUpdate(0, 0)], connection(PROTOCOL_ERROR)],
  ['6.9', 'WINDOW_UPDATE of 0 on a stream', [posting(), windowUpdate(1, 0)], [...stream(PROTOCOL_ERROR), ...connection(PROTOCOL_ERROR)]],
  ['6.9', 'WINDOW_UPDATE of a wrong length', [frame(WINDOW_UPDATE, 0, 0, 'abc')], connection(FRAME_SIZE_ERROR)],
  ['6.9.1', 'a window of the connection beyond 2^31-1', [windowUpdate(0, 2 ** 31 - 1)], connection(FLOW_CONTROL_ERROR)],
  ['6.9.1', 'a window of a stream beyond 2^31-1: Node ends the session', [posting(), windowUpdate(1, 2 ** 31 - 1)], [...stream(FLOW_CONTROL_ERROR), ...connection(FLOW_CONTROL_ERROR)]],
  ['6.10', 'a header block in two frames', [frame(HEADERS, END_STREAM, 1, block(asking('/')).subarray(0, 20)), frame(CONTINUATION, END_HEADERS, 1, block(asking('/')).subarray(20))], [ANSWERED]],
  ['6.10', 'CONTINUATION on the connection', [headers(1, asking('/'), END_STREAM), frame(CONTINUATION, END_HEADERS, 0)], connection(PROTOCOL_ERROR)],
  ['6.10', 'CONTINUATION behind the end of a block', [headers(1, asking('/open')), frame(CONTINUATION, END_HEADERS, 1, block([['a', 'b']]))], connection(PROTOCOL_ERROR)],
  ['8.1', 'trailers', [posting(), data(1, 'a'), headers(1, [['x-sum', '1']])], [ANSWERED]],
  ['8.1', 'a second header block that ends nothing', [posting(), data(1, 'a'), headers(1, [['x-sum', '1']], END_HEADERS)], stream(PROTOCOL_ERROR)],
  ['8.1', 'trailers with a field of a colon', [posting(), data(1, 'a'), headers(1, [[':path', '/']])], stream(PROTOCOL_ERROR)],
  ['8.1.1', 'a body that is shorter than its length', [posting(['content-length', '2']), data(1, 'a', END_STREAM)], stream(PROTOCOL_ERROR)],
  ['8.1.1', 'a body that is longer than its length: Node ends the session', [posting(['content-length', '2']), data(1, 'abc', END_STREAM)], [...stream(PROTOCOL_ERROR), ...connection()]],
  ['8.1.1', 'a length without a body', [headers(1, asking('/', { method: 'POST', fields: [['content-length', '2']] }))], stream(PROTOCOL_ERROR)],
  ['8.1.1', 'two lengths', [posting(['content-length', '1'], ['content-length', '1']), data(1, 'a', END_STREAM)], stream(PROTOCOL_ERROR)],
  ['8.2.1', 'a name in capitals', [withField('X-Upper', 'a')], stream(PROTOCOL_ERROR)],
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'].map((name) => ['8.2.2', name, [withField(name, 'a')], stream(PROTOCOL_ERROR)] as const),
  ['8.2.2', 'te of trailers', [withField('te', 'trailers')], [ANSWERED]],
  ['8.2.2', 'te of anything else', [withField('te', 'gzip')], stream(PROTOCOL_ERROR)],
  ['8.3', 'a field of a colon behind others', [headers(1, [...without(':path'), ['a', 'b'], [':path', '/']])], stream(PROTOCOL_ERROR)],
  ['8.3', 'an unknown field of a colon', [headers(1, [[':what', 'a'], ...asking('/')])], stream(PROTOCOL_ERROR)],
  ['8.3', 'a field of responses', [headers(1, [[':status', '200'], ...asking('/')])], stream(PROTOCOL_ERROR)],
  ...[':method', ':scheme', ':path', ':authority'].map((name) => ['8.3.1', `two of ${name}`, [headers(1, [asking('/').find(([other]) => other === name) ?? ['', ''], ...asking('/')])], stream(PROTOCOL_ERROR)] as const),
  ...[':method', ':scheme', ':path', ':authority'].map((name) => ['8.3.1', `none of ${name}`, [headers(1, without(name))], stream(PROTOCOL_ERROR)] as const),
  ['8.3.1', 'a host in the place of :authority', [headers(1, [...without(':authority'), ['host', 'localhost']])], [ANSWERED]],
  ['8.3.1', 'a host that is another than :authority', [withField('host', 'other')], ['answered 400']],
  ['8.3.1', 'an :authority with a user', [headers(1, asking('/', { authority: 'user@localhost' }))], ['answered 400', ...stream(PROTOCOL_ERROR)]],
  ...['', 'x', '*', 'http://localhost/', '/a b'].map((path) => ['8.3.1', `:path of ${JSON.stringify(path)}`, [headers(1, asking(path))], stream(PROTOCOL_ERROR)] as const),
  ['8.5', 'CONNECT', [headers(1, [[':method', 'CONNECT'], [':authority', 'localhost:1']])], ['answered 405']],
  ['8.5', 'CONNECT with a path', [headers(1, asking('/', { method: 'CONNECT' }))], stream(PROTOCOL_ERROR)],
  ['RFC 9110 9.1', 'a method in small letters is another method', [headers(1, asking('/', { method: 'get' }))], ['answered 501']],
];

test.each(CASES)('RFC 9113 section %s: %s', async (_section, what, frames, expected) => {
  const client = await FrameClient.open(port);
  client.send(...frames);
  const outcome = await client.outcome(1);
  expect(expected).toContain(outcome);
  // An error of a stream is not one of its connection.
  if (!outcome.startsWith('c') && !what.endsWith('Node ends the session')) {
    client.send(headers(101, asking('/')));
    expect(await client.outcome(101)).toBe(ANSWERED);
  }
  client.destroy();
});

test('a preface that is none is no HTTP/2', async () => {
  const client = await FrameClient.bare(port);
  client.send(PREFACE.subarray(0, 20), Buffer.from('XXXX'));
  await client.closed();
  expect(client.frames).toEqual([]);
  client.destroy();
});

test('the client of frames reads what Node writes', async () => {
  const plain = createHttp2Server((_req, res) => {
    res.statusCode = 418;
    res.end('body');
  }).listen(0);
  const client = await FrameClient.open((plain.address() as AddressInfo).port);
  client.send(headers(1, asking('/')));
  expect([await client.outcome(1), await client.end(1), client.body(1).toString()]).toEqual(['answered 418', 'whole', 'body']);
  client.destroy();
  plain.close();
});
