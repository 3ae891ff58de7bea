import fc from 'fast-check';
import { ConsoleBrowser, bodyOf, inPage, send, summary } from '../support/console-browser';

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

it('is shown while it comes, to its last element', async () => {
  const page = await chromium.open('GET/numbers/stream');
  await page.getByLabel('Path and query').fill('/numbers/stream?rows=20000');
  await page.getByLabel('Read the response').selectOption('a chunk every 20 ms');
  await send(page);
  const live = page.getByRole('figure', { name: 'Live' });
  await summary(page, '200');
  await live.locator('.elements').filter({ hasText: /^20,000$/ }).waitFor();
  expect(await live.locator('.newest').innerText()).toBe('{"row":19999,"square":"399960001","text":"step by step along the long path"}');
  expect(await live.locator('.bytes').innerText()).toMatch(/^(.+) of \1$/);
  expect(await page.getByRole('progressbar').evaluate((bar) => (bar as unknown as { value: number }).value)).toBe(1);
  await page.getByText(/^The first 20,000 of/).waitFor();
  expect(await page.getByRole('button', { name: 'Stop' }).isDisabled()).toBe(true);
});

it('can be stopped', async () => {
  const page = await chromium.open('GET/numbers/stream');
  await page.getByLabel('Read the response').selectOption('a chunk every 100 ms');
  await send(page);
  await page.locator('.elements').filter({ hasText: /\d/ }).waitFor();
  expect(await page.locator('.summary').innerText()).toBe('The head has come; reading the body.');
  await page.getByRole('button', { name: 'Stop' }).click();
  await summary(page, 'stopped');
  expect(Number((await page.locator('.elements').innerText()).replace(',', ''))).toBeLessThan(50_000);
});

it('is left behind when another route is chosen', async () => {
  const page = await chromium.open('GET/numbers/stream');
  await page.getByLabel('Read the response').selectOption('a chunk every 100 ms');
  await send(page);
  await page.getByRole('figure', { name: 'Live' }).waitFor();
  await page.getByRole('link', { name: 'GET /numbers/bigint', exact: true }).click();
  expect(await summary(page, 'Nothing sent yet.')).toBeTruthy();
  await send(page);
  await summary(page, '200');
  expect(await bodyOf(page)).toContain('"18446744073709551615"');
  expect(await page.getByRole('figure', { name: 'Live' }).isVisible()).toBe(false);
});

it('counts the elements of any array, however it is cut', async () => {
  const page = await chromium.open();
  const arrays = fc.sample(fc.tuple(fc.array(fc.jsonValue()), fc.integer({ min: 1, max: 9 })), 300).map(([array, size]) => ({ text: JSON.stringify(array), size }));
  const counted = await inPage(page, `
    const { ElementCounter } = await import('/console/element-counter.mjs');
    return given.map(({ text, size }) => {
      const counter = new ElementCounter();
      for (let at = 0; at < text.length; at += size) counter.push(text.slice(at, at + size));
      return [counter.count, counter.newest];
    });`, arrays);
  expect(counted).toEqual(arrays.map(({ text }) => {
    const array = JSON.parse(text) as unknown[];
    return [array.length, array.length === 0 ? '' : JSON.stringify(array.at(-1))];
  }));
});
