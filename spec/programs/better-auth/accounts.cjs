/** Better Auth behind Express's routes and, on waypost, mounted as the fetch handler that it is: accounts, and sessions by cookies. */
const assert = require('node:assert/strict');
const express = require('express');
const { check, listen } = require('../support.cjs');

const ADA = { email: 'ada@example.com', password: 'a long password', name: 'Ada' };

/** Has a client sign up, ask who it is, sign out and in again. @param mount Puts the accounts in their place. */
async function exercise(app, mount) {
  const { betterAuth } = await import('better-auth');
  const { memoryAdapter } = await import('better-auth/adapters/memory');
  const { fromNodeHeaders } = await import('better-auth/node');
  const port = await listen(app);
  const auth = betterAuth({
    baseURL: `http://127.0.0.1:${port}`, secret: 'a secret of thirty-two bytes or more', telemetry: { enabled: false },
    database: memoryAdapter({ user: [], session: [], account: [], verification: [] }), emailAndPassword: { enabled: true },
  });
  await mount(auth);
  app.get('/me', async (req, res) => {
    const session = await auth.api.getSession({ headers: fromNodeHeaders(req.headers) });
    if (session === null) res.status(401).json({ error: 'nobody' });
    else res.json({ name: session.user.name });
  });
  let cookies = {};
  const ask = async (path, json) => {
    const headers = { Cookie: Object.entries(cookies).map((pair) => pair.join('=')).join('; '), Origin: `http://127.0.0.1:${port}`, ...(json && { 'Content-Type': 'application/json' }) };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers, ...(json && { method: 'POST', body: JSON.stringify(json) }) });
    const set = answer.headers.getSetCookie();
    for (const each of set) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(each);
      if (/max-age=0/i.test(each)) delete cookies[name];
      else cookies[name] = value;
    }
    return { status: answer.status, text: await answer.text(), cookies: set.length };
  };
  const found = [];
  const expect = async (status, part, ...asked) => {
    found.push([status, check(await ask(...asked), status, part).cookies]);
  };
  await expect(401, 'nobody', '/me');
  await expect(200, ADA.email, '/api/auth/sign-up/email', ADA);
  await expect(200, ADA.email, '/api/auth/get-session');
  await expect(200, '"Ada"', '/me');
  await expect(200, 'true', '/api/auth/sign-out', {});
  await expect(401, 'nobody', '/me');
  await expect(401, 'INVALID', '/api/auth/sign-in/email', { ...ADA, password: 'another password' });
  await expect(200, ADA.email, '/api/auth/sign-in/email', ADA);
  await expect(200, '"Ada"', '/me');
  cookies = {};
  await expect(401, 'nobody', '/me');
  return found;
}

module.exports = async (side) => {
  const { toNodeHandler } = await import('better-auth/node');
  const app = express();
  const found = await exercise(app, (auth) => app.all('/api/auth/{*any}', toNodeHandler(auth)));
  if (side === 'waypost') {
    const { createServer } = require('../../../dist/index.js');
    // Behind parsers, too: what they have read is there for it.
    for (const made of [createServer({ logging: false }), express(), express().use(express.json())]) {
      assert.deepEqual(await exercise(made, (auth) => made.mount('/api/auth', auth.handler)), found);
    }
    const mounted = createServer({ logging: false });
    assert.deepEqual(await exercise(mounted, (auth) => mounted.mount('/api/auth', { fetch: auth.handler })), found);
  }
  return found;
};
