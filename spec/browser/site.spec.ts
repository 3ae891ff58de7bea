import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createServer, static as staticFiles } from '../../lib/index';
import { ROOT } from '../support/child-program';
import { launchChromium } from '../support/chromium';

const SITE = join(ROOT, 'site');
const app = createServer({ logging: { level: 'silent' } });
app.use(staticFiles(SITE));

let origin: string;
let browser: Browser;
const contexts: BrowserContext[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  if (!existsSync(join(SITE, 'index.html'))) throw new Error('there is no site: npm run docs (npm run test:browser does so)');
  const server = await app.start(0, '127.0.0.1');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launchChromium([]);
});

afterEach(async () => {
  await Promise.all(contexts.splice(0).map((context) => context.close()));
  expect(complaints.splice(0)).toEqual([]);
});

afterAll(async () => {
  await browser.close();
  await app.close({ timeout: 0 });
});

async function open(path: string, width = 1280): Promise<Page> {
  const context = await browser.newContext({ locale: 'en', viewport: { width, height: 800 } });
  contexts.push(context);
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  await page.goto(`${origin}${path}`);
  return page;
}

/** Types into the site's search, and opens the first result that says so. */
async function search(page: Page, words: string, result: RegExp): Promise<void> {
  await page.locator('#tsd-search-trigger').click();
  await page.locator('#tsd-search-input').pressSequentially(words);
  await page.locator('#tsd-search-results').getByRole('option').filter({ hasText: result }).first().click();
}

test('begins with README, and leads to the pages', async () => {
  const page = await open('/');
  expect(await page.title()).toBe('waypost');
  await page.getByRole('link', { name: 'routing', exact: true }).first().click();
  await page.getByRole('heading', { name: 'Routes and patterns' }).waitFor();
  expect(await page.title()).toBe('Routing | waypost');
});

test('shows the picture of the benchmark', async () => {
  const page = await open('/');
  const picture = page.getByRole('img', { name: /throughput relative to its peers/ });
  await picture.scrollIntoViewIfNeeded();
  expect(await picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)).toBeGreaterThan(100);
});

test('finds a public name', async () => {
  const page = await open('/');
  await search(page, 'signRequest', /signRequest/);
  await page.getByRole('heading', { name: /signRequest/ }).first().waitFor();
});

test('finds what stands in a page', async () => {
  const page = await open('/');
  await search(page, 'preflight', /Which requests are checked|Questions/);
  await page.getByText(/preflight/i).first().waitFor();
});

test('finds the answer to a question by its words', async () => {
  const page = await open('/');
  await search(page, 'hangs', /Questions/);
  await page.getByRole('heading', { name: 'My request hangs' }).waitFor();
});

test('fits the width of a phone', async () => {
  const page = await open('/', 360);
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
});

test('has no link that leads nowhere', async () => {
  const context = await browser.newContext();
  contexts.push(context);
  const { request } = context;
  const ids = new Map<string, ReadonlySet<string>>();
  const places: [string, string][] = [];
  const broken: string[] = [];
  const waiting = ['/index.html'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (ids.has(path)) continue;
    const response = await request.get(`${origin}${path}`);
    const html = /\.(?:html|svg)$/.test(path) ? await response.text() : '';
    ids.set(path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)));
    if (!response.ok()) broken.push(path);
    for (const [, link = ''] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      const url = new URL(link.replaceAll('&amp;', '&'), `${origin}${path}`);
      if (url.origin !== origin) continue;
      const target = url.pathname.replace(/\/$/, '/index.html');
      waiting.push(target);
      if (url.hash !== '') places.push([target, decodeURIComponent(url.hash.slice(1))]);
    }
  }
  for (const [path, id] of places) if (ids.get(path)?.has(id) !== true) broken.push(`${path}#${id}`);
  expect(broken).toEqual([]);
  expect(ids.size).toBeGreaterThan(50);
});
