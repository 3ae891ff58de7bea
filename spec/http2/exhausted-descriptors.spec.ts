import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/child-program';
import { askOn, openSession } from '../support/http2-client';

/** A server of Node's that calls an application. Told to, it takes every descriptor, or gives them back. */
const PROGRAM = `
const { closeSync, openSync } = require('node:fs');
const app = require('${ROOT}/dist/index.js').createServer({ logging: { level: 'silent' } });
app.get('/', (req, res) => res.send('here'));
const server = require('node:http2').createServer(app).listen(0, '127.0.0.1', () => process.send(server.address().port));
const held = [];
process.on('message', (what) => {
  if (what === 'free') held.splice(0).forEach(closeSync);
  else try { for (;;) held.push(openSync('/dev/null')); } catch {}
  process.send(what);
});
`;

test('a first request without a free descriptor is reset, and the process serves on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
  writeFileSync(join(folder, 'program.cjs'), PROGRAM);
  const child = fork(join(folder, 'program.cjs'), { execArgv: [], stdio: 'ignore' });
  try {
    const [port] = (await once(child, 'message')) as [number];
    const session = await openSession(port);
    // The connection is accepted by then.
    await new Promise((resolve) => void session.ping(resolve as () => void));
    child.send('fill');
    await once(child, 'message');
    const stream = session.request({ ':path': '/' });
    await new Promise((resolve) => void stream.on('error', () => undefined).on('close', resolve));
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    child.send('free');
    await once(child, 'message');
    expect((await askOn(session, '/')).body).toBe('here');
    session.destroy();
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  }
});
