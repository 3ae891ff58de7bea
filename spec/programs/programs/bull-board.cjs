/** Bull Board: its page and the jobs of a queue in Redis. */
const { createBullBoard } = require('@bull-board/api');
const { BullMQAdapter } = require('@bull-board/api/bullMQAdapter');
const { ExpressAdapter } = require('@bull-board/express');
const { Queue } = require('bullmq');
const express = require('express');
const { ask, check, listen, redis } = require('../support.cjs');

module.exports = async () => {
  const queue = new Queue('mail', { connection: { path: await redis() } });
  const job = await queue.add('welcome', { to: 'ada' });
  const serverAdapter = new ExpressAdapter();
  serverAdapter.setBasePath('/admin/queues');
  createBullBoard({ queues: [new BullMQAdapter(queue)], serverAdapter });
  const app = express();
  app.use('/admin/queues', serverAdapter.getRouter());
  const port = await listen(app);
  const page = check(await ask(port, '/admin/queues/'), 200, '/admin/queues/');
  const asset = /(?:src|href)="?([^" >]+\.js)/.exec(page.text)[1];
  const found = {
    page: page.type,
    asset: check(await ask(port, new URL(asset, 'http://h/admin/queues/').pathname), 200).type,
    queues: JSON.parse(check(await ask(port, '/admin/queues/api/queues?activeQueue=mail&page=1'), 200, 'welcome').text).queues.map(({ name, counts }) => [name, counts.waiting]),
    job: JSON.parse(check(await ask(port, `/admin/queues/api/queues/mail/${job.id}`), 200, 'ada').text).job.data,
    missing: (await ask(port, '/admin/queues/api/queues/none/1')).status,
    deep: check(await ask(port, '/admin/queues/queue/mail'), 200).type,
  };
  await queue.close();
  return found;
};
