import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { signRequest } from '../../lib/index';
import { ChildProgram, ROOT } from '../support/child-program';
import { launchChromium } from '../support/chromium';

const SECRET = readFileSync(join(ROOT, 'demo/secret.txt'), 'utf8').trim();
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
/** The name of a host that browsers don't trust as they trust localhost. */
const ELSEWHERE = 'elsewhere.test';
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

let server: ChildProgram;
let browser: Browser;
const contexts: BrowserContext[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  [server, browser] = await Promise.all([ChildProgram.serve('demo/server.mjs'), launchChromium([`--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`])]);
});

afterEach(async () => {
  await Promise.all(contexts.splice(0).map((context) => context.close()));
  // Nothing that its policy forbids, no exception, no file that is missing.
  expect(complaints.splice(0)).toEqual([]);
});

afterAll(async () => {
  await browser.close();
  await server.stop();
});

/** Opens the page at a route. */
async function open(route = '', options: BrowserContextOptions = {}, origin = server.origin): Promise<Page> {
  const context = await browser.newContext({ locale: 'en', reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(10_000);
  contexts.push(context);
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // The browser reports every answer of 400 and more.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) complaints.push(message.text());
  });
  await page.goto(`${origin}/#${route}`);
  return page;
}

/** Runs a program of the browser's, with `given` for what it is about. */
function inPage<T>(page: Page, program: string, given?: unknown): Promise<T> {
  return page.evaluate<T>(`(async (given) => { ${program} })(${JSON.stringify(given) ?? ''})`);
}

/** Waits until the answer's summary says so. */
async function summary(page: Page, text: string | RegExp): Promise<string> {
  const line = page.locator('.summary').filter({ hasText: text });
  await line.waitFor();
  return line.innerText();
}

/** The routes that the page lists, as it names them. */
function routesOf(page: Page): Promise<string[]> {
  return inPage(page, "return Array.from(document.querySelectorAll('article'), ({ id }) => id)");
}

/** Goes to a route, and waits until it is shown. */
async function choose(page: Page, route: string): Promise<void> {
  await inPage(page, `location.hash = given.route; await new Promise((done) => given.already ? done() : addEventListener('hashchange', done, { once: true }))`, { route, already: page.url().endsWith(`#${route}`) });
}

async function send(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Send' }).click();
}

function bodyOf(page: Page): Promise<string> {
  return page.getByRole('region', { name: 'Body of the answer' }).innerText();
}

it('lists every route beneath its mount, and shows one at a time', async () => {
  const page = await open('GET/signed/report');
  const links = page.getByRole('navigation', { name: 'Routes' }).getByRole('link');
  expect(await page.locator('article:visible').count()).toBe(1);
  expect(await links.count()).toBe(await page.locator('article').count());
  expect(await links.filter({ hasText: /signed$/ }).allTextContents()).toEqual(['GET /signed/report signed', 'POST /signed/orders signed']);
  await page.getByRole('link', { name: 'GET /catalogue/:id', exact: true }).click();
  await page.getByRole('heading', { level: 3, name: 'GET /catalogue/:id' }).waitFor();
  expect(await page.locator('article:visible').count()).toBe(1);
  expect(await page.locator('[aria-current]').innerText()).toContain('/:id');
  await page.goBack();
  await page.getByRole('heading', { level: 3, name: 'GET /signed/report' }).waitFor();
});

it('gets by each line that it can send the status that the page says', async () => {
  const page = await open();
  const unsendable: string[] = [];
  for (const route of await routesOf(page)) {
    await choose(page, route);
    const article = page.locator('article:visible');
    for (const line of await article.locator('.lines li').all()) {
      const button = line.getByRole('button', { name: 'Try' });
      const text = await line.locator('pre').innerText();
      if ((await button.count()) === 0) {
        unsendable.push(text.replaceAll(server.origin, ''));
        continue;
      }
      const said = Number(await line.locator('data').getAttribute('value'));
      await inPage(page, `document.querySelector('.summary').textContent = ''`);
      await button.click();
      // A browser follows what is redirected.
      const shown = await summary(page, said === 301 || said === 302 ? /redirected to/ : /^\d{3} /);
      expect({ text, shown }).toEqual({ text, shown: expect.stringMatching(said === 301 || said === 302 ? /^200/ : `^${said}`) });
    }
  }
  expect(unsendable).toEqual([
    expect.stringMatching(/^node -e .* --data-binary @- '\/catalogue'$/),
    "curl -i --path-as-is '/files/../server.mjs'",
    "curl -i -b 'visits=4' '/visits'",
  ]);
});

it('shows head, timing and body of an answer, and the request that it is for', async () => {
  const page = await open('POST/catalogue');
  await page.getByLabel('Body', { exact: true }).fill('{"id": 7}');
  await page.getByLabel('Header fields, one a line').fill('Content-Type: application/json\nX-Trail: north');
  await send(page);
  expect(await summary(page, '400')).toMatch(/^400\s+Bad Request, \d+ B in [\d.]+ ms$/);
  // Read out when it changes.
  expect(await page.locator('.summary').getAttribute('role')).toBe('status');
  expect(await bodyOf(page)).toBe('{\n  "error": "Bad Request",\n  "message": "A map needs an id, a title and a region, each a text, as its sheets are"\n}');
  expect(await page.locator('.received').innerText()).toMatch(/content-type\s+application\/json; charset=utf-8/);
  expect(await page.locator('.waiting-time').innerText()).toMatch(/^[\d.]+ m?s$/);
  await page.getByText('The request as it was sent').click();
  expect(await page.locator('.request-line').innerText()).toBe('POST /catalogue');
  expect(await page.locator('.sent').innerText()).toMatch(/X-Trail\s+north/);
});

it('writes parameters into the path, and reads them from it', async () => {
  const page = await open('GET/trails/:region/photos/**');
  const target = page.getByLabel('Path and query');
  await page.getByLabel('region').fill('a/b ü');
  await page.getByLabel('**').fill('2026/high tide.jpg');
  expect(await target.inputValue()).toBe('/trails/a%2Fb%20%C3%BC/photos/2026/high%20tide.jpg');
  await send(page);
  await summary(page, '200');
  expect(JSON.parse(await bodyOf(page))).toEqual({ region: 'a/b ü', photo: '2026/high tide.jpg' });
  await target.fill('/trails/south/photos/x/y?z=1');
  expect([await page.getByLabel('region').inputValue(), await page.getByLabel('**').inputValue()]).toEqual(['south', 'x/y']);
  for (const unmatched of ['/trails/south', '/trails/%/photos/x']) {
    await target.fill(unmatched);
    expect(await page.getByLabel('region').inputValue()).toBe('');
  }
});

it.each(['//elsewhere.test/x', '@elsewhere.test/', 'https://elsewhere.test/', '/\\elsewhere.test', ''])('asks nobody but its server: %j', async (target) => {
  const page = await open('GET/catalogue');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).origin));
  await page.getByLabel('Path and query').fill(target);
  await send(page);
  if (target.startsWith('/')) await summary(page, '404');
  expect(asked.filter((origin) => origin !== server.origin)).toEqual([]);
});

describe('signing', () => {
  it.each([
    ['as it is sent', /^200/, /"maps": 3/],
    ['then changed on its way', /^401/, /Invalid signature/],
    ['an hour ago', /^401/, /Signature expired/],
    ['not at all', /^401/, /Missing signature header/],
  ])('%s', async (how, status, body) => {
    const page = await open('GET/signed/report');
    await page.getByLabel('How it is signed').selectOption({ label: how });
    await send(page);
    await summary(page, status);
    expect(await bodyOf(page)).toMatch(body);
  });

  it('signs the body, and the target as the browser sends it', async () => {
    const page = await open('POST/signed/orders');
    await page.getByLabel('Path and query').fill('/signed/x/../orders?sheet=ü&"#top');
    await page.getByLabel('Body', { exact: true }).fill('{"map": "ü 😀", "copies": 12345678901234567890}');
    expect(await page.locator('.signed-data').innerText()).toMatch(/^POST\s*\/signed\/orders\?sheet=%C3%BC&%22\s*\{"map": "ü 😀".*\}\s*timestamp$/);
    await send(page);
    await summary(page, '201');
    expect(await bodyOf(page)).toContain('ü 😀');
  });

  it('signs as signRequest does', async () => {
    const page = await open();
    const request = fc.record({
      secret: fc.string({ unit: 'grapheme', minLength: 1 }),
      method: fc.constantFrom('GET', 'POST', 'DELETE'),
      target: fc.webPath().map((path) => path || '/'),
      body: fc.string({ unit: 'grapheme' }),
      timestamp: fc.integer({ min: 1e12, max: 9e12 }),
    });
    const requests = fc.sample(request, 200);
    const signed = await inPage(page, `
      const { sign } = await import('/console/sign.mjs');
      return Promise.all(given.map(({ secret, timestamp, ...request }) => sign(secret, request, timestamp).then(Object.fromEntries)));`, requests);
    expect(signed).toEqual(requests.map(({ target, ...rest }) => signRequest({ ...rest, url: target })));
  });

  it('asks for a secret that only the server has', async () => {
    const secret = 'a secret, known to nobody but this server';
    const own = await ChildProgram.serve('demo/server.mjs', { DEMO_SECRET: secret });
    try {
      const page = await open('GET/signed/report', {}, own.origin);
      const field = page.getByLabel('Secret');
      expect([await field.inputValue(), await field.getAttribute('type')]).toEqual(['', 'password']);
      await page.getByText('This server has a secret of its own').waitFor();
      await send(page);
      expect(await page.locator('.summary').innerText()).toBe('Nothing sent yet.');
      await field.fill(SECRET);
      await send(page);
      await summary(page, '401');
      await field.fill(secret);
      await send(page);
      await summary(page, '200');
    } finally {
      await own.stop();
    }
  });

  it('says where browsers do not sign, and sends unsigned there', async () => {
    const page = await open('GET/signed/report', {}, `http://${ELSEWHERE}:${server.port}`);
    await page.getByText('This browser signs for https and localhost only').waitFor();
    expect(await page.getByLabel('How it is signed').inputValue()).toBe('none');
    await send(page);
    await summary(page, '401');
  });
});

describe('a streamed answer', () => {
  it('is shown while it comes, to its last element', async () => {
    const page = await open('GET/numbers/stream');
    await page.getByLabel('Path and query').fill('/numbers/stream?rows=20000');
    await page.getByLabel('Read the answer').selectOption('a piece every 20 ms');
    await send(page);
    const live = page.getByRole('figure', { name: 'Live' });
    await live.waitFor();
    expect(await page.getByRole('button', { name: 'Stop' }).isEnabled()).toBe(true);
    expect(await page.locator('.summary').innerText()).toContain('waiting');
    await summary(page, '200');
    await live.locator('.elements').filter({ hasText: /^20,000$/ }).waitFor();
    expect(await live.locator('.newest').innerText()).toBe('{"row":19999,"square":"399960001","text":"step by step along the long path"}');
    expect(await live.locator('.bytes').innerText()).toMatch(/^(.+) of \1$/);
    expect(await page.getByRole('progressbar').evaluate((bar) => (bar as unknown as { value: number }).value)).toBe(1);
    await page.getByText(/^The first 20,000 of/).waitFor();
    expect(await page.getByRole('button', { name: 'Stop' }).isDisabled()).toBe(true);
  });

  it('can be stopped', async () => {
    const page = await open('GET/numbers/stream');
    await page.getByLabel('Read the answer').selectOption('a piece every 100 ms');
    await send(page);
    await page.locator('.elements').filter({ hasText: /\d/ }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await summary(page, 'stopped');
    expect(Number((await page.locator('.elements').innerText()).replace(',', ''))).toBeLessThan(50_000);
  });

  it('is left behind when another route is chosen', async () => {
    const page = await open('GET/numbers/stream');
    await page.getByLabel('Read the answer').selectOption('a piece every 100 ms');
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
    const page = await open();
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
});

it('indents JSON as JSON.stringify does, and keeps the digits', async () => {
  const page = await open();
  const values = fc.sample(fc.jsonValue(), 300);
  const texts = [...values.map((value) => JSON.stringify(value)), '[12345678901234567890.10]', '{"a":[1', '', 'no JSON: ]]'];
  const shown = await inPage(page, `
    const { renderJson } = await import('/console/json-text.mjs');
    return given.map((text) => renderJson(text).textContent);`, texts);
  expect(shown).toEqual([...values.map((value) => JSON.stringify(value, null, 2)), '[\n  12345678901234567890.10\n]', '{\n  "a": [\n    1', '', expect.stringContaining('no')]);
});

it('is worked by the keyboard alone', async () => {
  const page = await open();
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

it('says so when no answer comes', async () => {
  const gone = await ChildProgram.serve('demo/server.mjs');
  const page = await open('GET/catalogue', {}, gone.origin);
  await gone.stop();
  await send(page);
  await summary(page, /^No answer came: .*Is the server running\?$/);
});

it('can be read without scripts: every route with its lines, and no form', async () => {
  const page = await open('', { javaScriptEnabled: false });
  expect(await page.locator('article:visible').count()).toBe(await page.locator('article').count());
  expect(await page.locator('form').count()).toBe(0);
});

it('runs no script that is put into it', async () => {
  const page = await open();
  const ran = await inPage(page, `
    for (const name of ['one', 'two']) {
      const element = document.createElement(name === 'one' ? 'script' : 'img');
      if (name === 'one') element.textContent = 'document.injected = true';
      else element.setAttribute('onerror', 'document.injected = true');
      element.src ||= 'data:,x';
      const settled = new Promise((resolve) => { element.onload = resolve; element.addEventListener('error', resolve); });
      document.body.append(element);
      if (name === 'two') await settled;
    }
    return document.injected === true;`);
  expect(ran).toBe(false);
  expect(complaints.splice(0).join()).toMatch(/Content Security Policy/);
});

describe.each([['a desktop', { viewport: { width: 1440, height: 900 } }], ['a phone', PHONE]])('on %s', (_, device) => {
  it.each(['light', 'dark'] as const)('has nothing that axe finds wrong, in %s', async (colorScheme) => {
    const page = await open('', { ...device, colorScheme });
    for (const route of ['GET/signed/report', 'GET/numbers/stream', 'PATCH/catalogue/:id', 'GET/errors/thrown', 'GET/catalogue/:id']) {
      await choose(page, route);
      await page.locator('article:visible').getByRole('button', { name: 'Try' }).last().click();
      await summary(page, /^\d{3}/);
      await inPage(page, 'document.querySelector("nav details").open = true');
      await page.evaluate(AXE);
      const found = await inPage<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>(page, 'return axe.run(document)');
      expect(found.violations.map(({ id, nodes }) => [route, id, ...nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`)])).toEqual([]);
    }
  });
});

it('has nothing wider than the screen, from a small phone to a desktop', async () => {
  const page = await open();
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
  const page = await open('', PHONE);
  const link = page.getByRole('link', { name: 'GET /visits', exact: true });
  expect(await link.isVisible()).toBe(false);
  await page.getByText('Routes', { exact: true }).tap();
  await link.tap();
  await page.getByRole('heading', { level: 3, name: 'GET /visits' }).waitFor();
  expect(await link.isVisible()).toBe(false);
});

it('moves nothing for those who want no motion', async () => {
  const page = await open();
  expect(await inPage(page, `
    const durations = [...document.querySelectorAll('*')].map((element) => getComputedStyle(element)).map((style) => style.transitionDuration + style.animationDuration);
    return [...new Set(durations), getComputedStyle(document.documentElement).scrollBehavior];`)).toEqual(['0s0s', 'auto']);
});
