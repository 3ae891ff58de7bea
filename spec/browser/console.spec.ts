import fc from 'fast-check';
import { ChildProgram } from '../support/child-program';
import { ConsoleBrowser, bodyOf, choose, inPage, routesOf, send, summary } from '../support/console-browser';

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

it('lists every route beneath its mount, and shows one at a time', async () => {
  const page = await chromium.open('GET/signed/report');
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
  const page = await chromium.open();
  const unsendable: string[] = [];
  for (const route of await routesOf(page)) {
    await choose(page, route);
    const article = page.locator('article:visible');
    for (const line of await article.locator('.lines li').all()) {
      const button = line.getByRole('button', { name: 'Try' });
      const text = await line.locator('pre').innerText();
      if ((await button.count()) === 0) {
        unsendable.push(text.replaceAll(chromium.server.origin, ''));
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
  const page = await chromium.open('POST/catalogue');
  await page.getByLabel('Body', { exact: true }).fill('{"id": 7}');
  await page.getByLabel('Headers, one per line').fill('Content-Type: application/json\nX-Trail: north');
  await send(page);
  expect(await summary(page, '400')).toMatch(/^400\s+Bad Request, HTTP\/1\.1, \d+ B in [\d.]+ ms$/);
  // Read out when it changes.
  expect(await page.locator('.summary').getAttribute('role')).toBe('status');
  expect(await bodyOf(page)).toBe('{\n  "error": "Bad Request",\n  "message": "A map needs an id, a title and a region, each a text, as its sheets are"\n}');
  expect(await page.locator('.received').innerText()).toMatch(/content-type\s+application\/json; charset=utf-8/);
  expect(await page.locator('.waiting-time').innerText()).toMatch(/^[\d.]+ m?s$/);
  await page.getByText('Request sent').click();
  expect(await page.locator('.request-line').innerText()).toBe('POST /catalogue');
  expect(await page.locator('.sent').innerText()).toMatch(/X-Trail\s+north/);
});

it('writes parameters into the path, and reads them from it', async () => {
  const page = await chromium.open('GET/trails/:region/photos/**');
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
  const page = await chromium.open('GET/catalogue');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).origin));
  await page.getByLabel('Path and query').fill(target);
  await send(page);
  if (target.startsWith('/')) await summary(page, '404');
  expect(asked.filter((origin) => origin !== chromium.server.origin)).toEqual([]);
});

it('indents JSON as JSON.stringify does, and keeps the digits', async () => {
  const page = await chromium.open();
  const values = fc.sample(fc.jsonValue(), 300);
  const texts = [...values.map((value) => JSON.stringify(value)), '[12345678901234567890.10]', '{"a":[1', '', 'no JSON: ]]'];
  const shown = await inPage(page, `
    const { renderJson } = await import('/console/json-text.mjs');
    return given.map((text) => renderJson(text).textContent);`, texts);
  expect(shown).toEqual([...values.map((value) => JSON.stringify(value, null, 2)), '[\n  12345678901234567890.10\n]', '{\n  "a": [\n    1', '', expect.stringContaining('no')]);
});

it('copies a line as it stands', async () => {
  const page = await chromium.open('POST/signed/orders', { permissions: ['clipboard-read', 'clipboard-write'] });
  const line = page.locator('article:visible .lines li').first();
  await line.getByRole('button', { name: 'Copy' }).click();
  await line.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await inPage(page, 'return navigator.clipboard.readText()')).toBe(await line.locator('pre').innerText());
});

it('says so when no answer comes', async () => {
  const gone = await ChildProgram.serve('demo/server.mjs');
  const page = await chromium.open('GET/catalogue', {}, gone.origin);
  await gone.stop();
  await send(page);
  await summary(page, /^No response: .*Is the server running\?$/);
});

it('runs no script that is put into it', async () => {
  const page = await chromium.open();
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
  expect(chromium.complaints().join()).toMatch(/Content Security Policy/);
});
