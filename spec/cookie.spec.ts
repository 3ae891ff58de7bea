import { unsign } from 'cookie-signature';
import { parseSetCookie } from 'cookie';
import fc from 'fast-check';
import type { CookieOptions } from '../lib/http/cookie';
import { type Handler, Parity, ResponseServer } from './support/response-server';
import { runs } from './support/runs';

const secret = 'a secret of some length';

/** Sets what cookie-parser would set. */
function withSecret(handler: Handler): Handler {
  return (req, res) => handler(Object.assign(req, { secret }), res);
}

const CASES: readonly (readonly [string, Handler])[] = [
  ['a value', (_, res) => res.cookie('name', 'value').end()],
  ['several', (_, res) => res.cookie('a', '1').cookie('b', '2').cookie('a', '3').end()],
  ['a value to encode', (_, res) => res.cookie('name', 'a b;c=ü,"\r\n').end()],
  ['an object', (_, res) => res.cookie('cart', { items: [1, 2] }).end()],
  ['an array', (_, res) => res.cookie('list', [1, 'a']).end()],
  ['null', (_, res) => res.cookie('nothing', null).end()],
  ['a number', (_, res) => res.cookie('n', 42).end()],
  ['undefined', (_, res) => res.cookie('n', undefined).end()],
  ['an empty value', (_, res) => res.cookie('n', '').end()],
  ['all flags', (_, res) => res.cookie('n', 'v', { httpOnly: true, secure: true, partitioned: true, domain: 'example.com', path: '/admin', priority: 'high', sameSite: 'none' }).end()],
  ['sameSite true', (_, res) => res.cookie('n', 'v', { sameSite: true }).end()],
  ['sameSite lax', (_, res) => res.cookie('n', 'v', { sameSite: 'lax' }).end()],
  ['flags that are off', (_, res) => res.cookie('n', 'v', { httpOnly: false, secure: false, sameSite: false, signed: false }).end()],
  ['expires', (_, res) => res.cookie('n', 'v', { expires: new Date(1e12) }).end()],
  ['maxAge null', (_, res) => res.cookie('n', 'v', { maxAge: null }).end()],
  ['path null', (_, res) => res.cookie('n', 'v', { path: null }).end()],
  ['encode', (_, res) => res.cookie('n', 'a b', { encode: (value) => value.replace(' ', '+') }).end()],
  ['signed', withSecret((_, res) => res.cookie('n', 'v', { signed: true }).end())],
  ['signed by another true value', withSecret((_, res) => res.cookie('n', 'v', { signed: 'true' as unknown as boolean }).end())],
  ['a signed object', withSecret((_, res) => res.cookie('n', { a: 1 }, { signed: true }).end())],
  ['cleared', (_, res) => res.clearCookie('n').end()],
  ['cleared with a path', (_, res) => res.clearCookie('n', { path: '/admin', domain: 'example.com' }).end()],
  ['cleared with a life', (_, res) => res.clearCookie('n', { maxAge: 1000, expires: new Date(1e13) }).end()],
  ['beside a redirect', (_, res) => res.cookie('n', 'v').redirect('/')],
];

describe('cookies as in Express 5', () => {
  let parity: Parity;
  beforeAll(async () => { parity = await Parity.start(); });
  afterAll(() => parity.close());

  it.each(CASES)('%s', async (_name, handler) => {
    const { ours, express } = await parity.both(handler);
    expect(ours.status).toBeLessThan(400);
    expect(ours).toEqual(express);
  });

  it('any value, plain and signed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: 'grapheme' }), fc.jsonValue()), fc.boolean(), async (value, signed) => {
        const { ours, express } = await parity.both(withSecret((_, res) => res.cookie('n', value, { signed }).end()));
        expect(ours).toEqual(express);
      }),
      { numRuns: runs(40) },
    );
  });
});

describe('res.cookie', () => {
  let server: ResponseServer;
  beforeEach(async () => { server = await ResponseServer.waypost(); });
  afterEach(() => server.close());

  async function set(options: CookieOptions, handler?: Handler): Promise<ReturnType<typeof parseSetCookie>> {
    const answer = await server.answer(handler ?? ((_, res) => res.cookie('n', 'v', options).end()));
    return parseSetCookie(answer.headers['set-cookie']?.[0] ?? '');
  }

  it('takes maxAge in milliseconds and says it both ways', async () => {
    const before = Date.now();
    const cookie = await set({ maxAge: 61_500 });
    const after = Date.now();
    expect(cookie.maxAge).toBe(61);
    // Expires has whole seconds.
    expect(cookie.expires?.getTime()).toBeGreaterThanOrEqual(before + 60_500);
    expect(cookie.expires?.getTime()).toBeLessThanOrEqual(after + 61_500);
  });

  it('leaves the options as they were given', async () => {
    const options = Object.freeze({ maxAge: 1000, path: undefined });
    await set(options as unknown as CookieOptions);
    expect(options).toEqual({ maxAge: 1000, path: undefined });
  });

  it('signs so that cookie-signature finds it unchanged', async () => {
    const cookie = await set({}, withSecret((_, res) => res.cookie('n', 'v', { signed: true }).end()));
    expect(cookie.value?.slice(0, 2)).toBe('s:');
    expect(unsign(cookie.value?.slice(2) ?? '', secret)).toBe('v');
    expect(unsign(cookie.value?.slice(2) ?? '', `${secret}.`)).toBe(false);
  });

  it.each<[string, Handler, RegExp]>([
    ['signing without a secret', (_, res) => res.cookie('n', 'v', { signed: true }), /required for signed cookies such as "n": put app\.use\(cookieParser\(secret\)\)/],
    ['a name with a line end', (_, res) => res.cookie('n\r\nX-Evil: 1', 'v'), /name is invalid/],
    ['an encoder that lets a separator through', (_, res) => res.cookie('n', 'a; Domain=evil', { encode: String }), /val is invalid/],
    ['a path with a separator', (_, res) => res.cookie('n', 'v', { path: '/; Domain=evil' }), /path is invalid/],
    ['a domain with a separator', (_, res) => res.cookie('n', 'v', { domain: 'a; Secure' }), /domain is invalid/],
    ['a maxAge that is no number', (_, res) => res.cookie('n', 'v', { maxAge: 'soon' as unknown as number }), /maxAge is invalid for cookie "n": give a number of milliseconds, got NaN/],
    ['an endless maxAge', (_, res) => res.cookie('n', 'v', { maxAge: Infinity }), /maxAge is invalid for cookie "n"/],
  ])('refuses %s', async (_name, handler, message) => {
    const answer = await server.answer(handler);
    expect(answer.status).toBe(500);
    expect(answer.headers).not.toHaveProperty('set-cookie');
    expect(server.log[0]?.fields.err?.message).toMatch(message);
  });
});
