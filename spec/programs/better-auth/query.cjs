/** A query of pg that ends with its request: by req.signal, or on Express by the response's `close` where Node has no such signal. */
const assert = require('node:assert/strict');
const express = require('express');
const { Pool } = require('pg');
const { listen, postgres } = require('../support.cjs');

module.exports = async (side) => {
  const pool = new Pool({ host: await postgres(), user: 'waypost', database: 'postgres' });
  const app = express();
  const ended = new Promise((resolve) => {
    app.get('/slow', async (req, res) => {
      const signal = req.signal ?? signalOf(res);
      const client = await pool.connect();
      // As PostgreSQL's manual has it: a query is cancelled by another connection.
      const cancel = () => void pool.query('SELECT pg_cancel_backend($1)', [client.processID]);
      signal.addEventListener('abort', cancel, { once: true });
      try {
        await client.query('SELECT pg_sleep(50)');
      } catch (error) {
        if (side === 'waypost') assert.equal(signal.reason.code, 'CLIENT_GONE');
        resolve({ code: error.code, message: error.message, aborted: signal.aborted });
      } finally {
        signal.removeEventListener('abort', cancel);
        client.release();
      }
    });
  });
  app.get('/sum', async (req, res) => res.json((await pool.query('SELECT $1::int + 2 AS sum', [req.query.a])).rows));
  const port = await listen(app);
  const caller = new AbortController();
  const asked = fetch(`http://127.0.0.1:${port}/slow`, { signal: caller.signal }).catch((error) => error.name);
  while ((await pool.query("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'")).rowCount === 0);
  caller.abort();
  const found = [await asked, await ended, await (await fetch(`http://127.0.0.1:${port}/sum?a=1`)).json()];
  assert.equal(found[1].code, '57014');
  await pool.end();
  return found;
};

function signalOf(res) {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  return gone.signal;
}
