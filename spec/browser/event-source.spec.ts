import type { Browser } from 'playwright-core';
import type { EventStream } from 'waypost';
import { launchChromium } from '../support/chromium';
import { inPage } from '../support/console-browser';
import { Running } from '../support/running';

const running = new Running();
let browser: Browser;

beforeAll(async () => {
  browser = await launchChromium();
});

afterEach(() => running.close());
afterAll(() => browser.close());

it('an EventSource connects again, says the id of its last event, and stops at 204', async () => {
  const asked: (string | undefined)[] = [];
  const port = await running.app((app) => {
    app.get('/', (_req, res) => res.send('<!doctype html><title>Events</title>'));
    app.get('/events', (req, res) => {
      asked.push(req.get('Last-Event-ID'));
      const last = Number(req.get('Last-Event-ID') ?? 0);
      if (last >= 6) return void res.status(204).end();
      res.events((async function* () {
        for (let id = last + 1; id <= last + 3; id++) yield await Promise.resolve({ id, event: 'tick', data: { id, text: 'a\nb ä' } });
      })(), { retry: 1 });
    });
  });
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${port}/`);
  const got = await inPage(page, `
    const source = new EventSource('/events');
    const got = [];
    source.addEventListener('tick', ({ data, lastEventId }) => got.push([lastEventId, JSON.parse(data)]));
    await new Promise((resolve) => source.addEventListener('error', () => source.readyState === EventSource.CLOSED && resolve()));
    return got;`);
  expect(got).toEqual([1, 2, 3, 4, 5, 6].map((id) => [String(id), { id, text: 'a\nb ä' }]));
  expect(asked).toEqual([undefined, '3', '6']);
});

it('an EventSource whose connection is cut off misses nothing', async () => {
  const asked: (string | undefined)[] = [];
  const streams: EventStream[] = [];
  const port = await running.app((app) => {
    app.get('/', (_req, res) => res.send('<!doctype html><title>Events</title>'));
    app.get('/events', (_req, res) => {
      const events = res.events(undefined, { retry: 1 });
      asked.push(events.lastEventId);
      streams.push(events);
      void events.send({ id: `ä${streams.length}`, data: `connection ${streams.length}` });
      // A reset, as a proxy that restarts would make it.
      if (streams.length < 3) setImmediate(() => res.socket?.resetAndDestroy());
    });
  });
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${port}/`);
  const got = await inPage(page, `
    const source = new EventSource('/events');
    const got = [];
    await new Promise((resolve) => source.addEventListener('message', ({ data }) => got.push(data) && data.endsWith('3') && resolve()));
    source.close();
    return got;`);
  expect(got).toContain('connection 3');
  // A reset may take what was on its way.
  expect(asked.slice(0, 1)).toEqual([undefined]);
  expect(asked.length).toBe(3);
  for (const [i, id] of asked.slice(1).entries()) expect([undefined, `ä${i}`, `ä${i + 1}`]).toContain(id);
});
