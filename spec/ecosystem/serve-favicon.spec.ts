import type { Express } from 'express';
import favicon from 'serve-favicon';
import { ExpressOracle } from '../support/express-oracle';

test('answers for its path, and refuses other methods', async () => {
  const oracle = await ExpressOracle.start((app: Express) => {
    app.use(favicon(Buffer.from('an icon')));
    app.use((_req, res) => void res.status(404).send('none'));
  });
  try {
    expect(await oracle.ask('/favicon.ico')).toMatchObject({ status: 200, headers: { 'content-type': 'image/x-icon', 'cache-control': 'public, max-age=31536000' }, body: 'an icon' });
    expect(await oracle.ask('/favicon.ico', { method: 'POST' })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } });
    expect((await oracle.ask('/favicon.png')).body).toBe('none');
  } finally {
    await oracle.close();
  }
});
