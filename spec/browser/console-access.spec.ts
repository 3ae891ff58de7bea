import { readFileSync } from 'node:fs';
import { ConsoleBrowser, PHONE, choose, inPage, routesOf, summary } from '../support/console-browser';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

let chromium: ConsoleBrowser;

beforeAll(async () => {
  chromium = await ConsoleBrowser.start();
});

afterEach(async () => {
  expect(await chromium.close()).toEqual([]);
});

afterAll(async () => {
  await chromium.stop();
});

it('is worked by the keyboard alone', async () => {
  const page = await chromium.open();
  await page.keyboard.press('Tab');
  expect(await inPage(page, 'return document.activeElement.textContent')).toBe('Skip to the route');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  expect(await inPage(page, 'return document.activeElement.name')).toBe('method');
  await page.keyboard.press('Tab');
  expect(await inPage(page, 'return document.activeElement.name')).toBe('target');
  await page.keyboard.press('Enter');
  await summary(page, '200');
  await page.getByRole('link', { name: 'POST /signed/orders' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 3, name: 'POST /signed/orders' }).waitFor();
  expect(await inPage(page, 'return document.activeElement.textContent')).toBe('POST /signed/orders signed');
  const order: string[] = [];
  for (let stop = 0; stop < 8; stop++) {
    await page.keyboard.press('Tab');
    order.push(await inPage(page, 'return document.activeElement.name || document.activeElement.textContent'));
  }
  expect(order).toEqual(['method', 'target', 'fields', 'body', 'signature', 'secret', 'Send', expect.stringMatching(/^curl|^node/)]);
  await page.getByLabel('Body', { exact: true }).focus();
  await page.keyboard.press('Control+Enter');
  await summary(page, '201');
});

it('can be read without scripts: every route with its lines, and no form', async () => {
  const page = await chromium.open('', { javaScriptEnabled: false });
  expect(await page.locator('article:visible').count()).toBe(await page.locator('article').count());
  expect(await page.locator('form').count()).toBe(0);
});

describe.each([['a desktop', { viewport: { width: 1440, height: 900 } }], ['a phone', PHONE]])('on %s', (_, device) => {
  it.each(['light', 'dark'] as const)('has nothing that axe finds wrong, in %s', async (colorScheme) => {
    const page = await chromium.open('', { ...device, colorScheme });
    for (const route of ['GET/signed/report', 'GET/numbers/stream', 'PATCH/catalogue/:id', 'GET/errors/thrown', 'GET/catalogue/:id']) {
      await choose(page, route);
      await page.locator('article:visible').getByRole('button', { name: 'Try' }).last().click();
      await summary(page, /^\d{3}/);
      await inPage(page, 'document.querySelector("nav details").open = true');
      await page.evaluate(AXE);
      const found = await inPage<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>(page, "return axe.run(document, { resultTypes: ['violations'] })");
      expect(found.violations.map(({ id, nodes }) => [route, id, ...nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`)])).toEqual([]);
    }
  });
});

it('has nothing wider than the screen, from a small phone to a desktop', async () => {
  const page = await chromium.open();
  for (const route of await routesOf(page)) {
    await choose(page, route);
    await page.locator('article:visible').getByRole('button', { name: 'Try' }).first().click();
    await summary(page, /^\d{3}/);
    for (const width of [320, 360, 768, 1024, 1440]) {
      await page.setViewportSize({ width, height: 740 });
      expect({ route, width, beyond: await inPage(page, 'return document.documentElement.scrollWidth - innerWidth') }).toEqual({ route, width, beyond: 0 });
    }
  }
});

it('folds the routes away on a phone, until they are asked for', async () => {
  const page = await chromium.open('', PHONE);
  const link = page.getByRole('link', { name: 'GET /visits', exact: true });
  expect(await link.isVisible()).toBe(false);
  await page.getByText('Routes', { exact: true }).tap();
  await link.tap();
  await page.getByRole('heading', { level: 3, name: 'GET /visits' }).waitFor();
  expect(await link.isVisible()).toBe(false);
});

it('brings the answer onto the screen of a phone', async () => {
  const page = await chromium.open('POST/signed/orders', PHONE);
  await page.getByRole('button', { name: 'Send' }).tap();
  await summary(page, '201');
  const top = await inPage<number>(page, "return document.querySelector('.summary').getBoundingClientRect().top / innerHeight");
  expect(top).toBeGreaterThanOrEqual(0);
  expect(top).toBeLessThan(0.5);
});

it('moves nothing for those who want no motion', async () => {
  const page = await chromium.open();
  expect(await inPage(page, `
    const durations = [...document.querySelectorAll('*')].map((element) => getComputedStyle(element)).map((style) => style.transitionDuration + style.animationDuration);
    return [...new Set(durations), getComputedStyle(document.documentElement).scrollBehavior];`)).toEqual(['0s0s', 'auto']);
});
