import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { signRequest } from '../../lib/index';
import { ChildProgram, ROOT } from '../support/child-program';
import { ConsoleBrowser, ELSEWHERE, bodyOf, inPage, send, summary } from '../support/console-browser';

const SECRET = readFileSync(join(ROOT, 'demo/secret.txt'), 'utf8').trim();

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

it.each([
  ['correctly', /^200/, /"maps": 3/],
  ['and change it afterwards', /^401/, /Invalid signature/],
  ['with a time an hour old', /^401/, /Signature expired/],
  ['no', /^401/, /Missing signature header/],
])('%s', async (how, status, body) => {
  const page = await chromium.open('GET/signed/report');
  await page.getByLabel('Sign the request').selectOption({ label: how });
  await send(page);
  await summary(page, status);
  expect(await bodyOf(page)).toMatch(body);
});

it('signs the body, and the target as the browser sends it', async () => {
  const page = await chromium.open('POST/signed/orders');
  await page.getByLabel('Path and query').fill('/signed/x/../orders?sheet=ü&"#top');
  await page.getByLabel('Body', { exact: true }).fill('{"map": "ü 😀", "copies": 12345678901234567890}');
  expect(await page.locator('.signed-data').innerText()).toMatch(/^POST\s*\/signed\/orders\?sheet=%C3%BC&%22\s*\{"map": "ü 😀".*\}\s*timestamp$/);
  await send(page);
  await summary(page, '201');
  expect(await bodyOf(page)).toContain('ü 😀');
});

it('signs as signRequest does', async () => {
  const page = await chromium.open();
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
    const page = await chromium.open('GET/signed/report', {}, own.origin);
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
  const page = await chromium.open('GET/signed/report', {}, `http://${ELSEWHERE}:${chromium.server.port}`);
  await page.getByText('This browser signs for https and localhost only').waitFor();
  expect(await page.getByLabel('Sign the request').inputValue()).toBe('none');
  await send(page);
  await summary(page, '401');
});
