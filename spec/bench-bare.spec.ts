import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { PeerProcess } from '../bench/peer-process';
import { check, record } from '../bench/exchange';
import { createServer } from 'waypost';

const NO_PINS = { server: undefined, load: undefined };
const EXCHANGE = { method: 'GET', target: '/', headers: {}, status: 200, json: { hello: 'Zürich' } };

describe('a peer of the benchmark', () => {
  test.each([
    [undefined, 'handled, emitted'],
    ['1', 'emitted, handled'],
  ])('hands requests on at once, or by setImmediate (%s)', (deferred, order) => {
    const program = `const said = []; const server = require('node:http').createServer(() => said.push('handled'));
      server.emit('request'); said.push('emitted'); setImmediate(() => { console.log(said.join(', ')); });`;
    const env = { ...process.env, ...(deferred === undefined ? {} : { BENCH_DEFERRED: deferred }) };
    expect(execFileSync(process.execPath, ['--require', './bench/probe.cjs', '--eval', program], { env, encoding: 'utf8' }).trim()).toBe(order);
  });
});

describe('the bare server of the benchmark', () => {
  test.each([false, true])('writes what the other answered, field by field, whatever it is asked (deferred: %s)', async (deferred) => {
    const app = createServer({ etag: false, logging: { level: 'silent' } });
    app.get('/', (_req, res) => res.set('X-One', 'first').json({ hello: 'Zürich' }));
    const server = await app.start(0, '127.0.0.1');
    const { port } = server.address() as AddressInfo;
    const answer = await record(port, EXCHANGE);
    const bare = await PeerProcess.startBare(answer, { deferred, semiSpace: undefined }, NO_PINS);
    try {
      expect(answer.fields).toEqual(['X-One', 'first', 'Content-Type', 'application/json; charset=utf-8', 'Content-Length', '19']);
      expect(await record(bare.port, EXCHANGE)).toEqual(answer);
      expect(await record(bare.port, { ...EXCHANGE, method: 'POST', target: '/elsewhere', body: '{"a":1}' })).toEqual(answer);
    } finally {
      await bare.stop();
      await app.close();
    }
  });

  test('speaks HTTPS where the other does', async () => {
    // The bench's own, which the bare server has.
    const [key, cert] = ['key', 'cert'].map((name) => readFileSync(`demo/tls/demo-only-${name}.pem`, 'utf8')) as [string, string];
    const app = createServer({ logging: { level: 'silent' }, server: { https: { key, cert } } });
    app.get('/', (_req, res) => res.json({ hello: 'Zürich' }));
    const server = await app.start(0, '127.0.0.1');
    const secure = { ...EXCHANGE, ca: cert };
    const answer = await record((server.address() as AddressInfo).port, secure);
    const bare = await PeerProcess.startBare(answer, { deferred: false, semiSpace: 4 }, NO_PINS);
    try {
      expect(answer.secure).toBe(true);
      await check(bare.port, secure);
      expect(await record(bare.port, secure)).toEqual(answer);
    } finally {
      await bare.stop();
      await app.close();
    }
  });
});
