import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { failureBody, isRejection } from '../lib/signature/rejection';
import type { Acceptance, Verdict } from '../lib/signature/scheme';
import { WebhookScheme, type WebhookSchemeConfig } from '../lib/signature/webhook/webhook';

import { noise } from './support/noise';
import { partsOf, refusalOf, verdictOf } from './support/verdict';

const NOW = 1_700_000_000_500;
const SECONDS = 1_700_000_000;
const MISSING = 'missing';
const INVALID = 'invalid';
const EXPIRED = 'expired';
const EVENT = '{"type":"order.paid","id":7}';

type Preset = 'standard' | 'stripe' | 'github' | 'slack';

function scheme(preset: Preset, secrets: string | string[], rest: Partial<WebhookSchemeConfig> = {}): WebhookScheme {
  return new WebhookScheme({ path: '/hook', preset, secrets: [secrets].flat(), maxAge: 300_000, clockSkew: 300_000, ...rest });
}

/** What the check says: the failure, or 'accepted'. */
function judge(checked: WebhookScheme, headers: IncomingHttpHeaders, body: string | Buffer = EVENT, now = NOW, method = 'POST'): string {
  const request = { method, target: '/hook', headers };
  const verdict = verdictOf(checked, request, Buffer.from(body as string), now);
  return isRejection(verdict) ? verdict.failure : 'accepted';
}

function accepted(verdict: Verdict): Acceptance {
  if (isRejection(verdict)) throw new Error(verdict.reason);
  return verdict;
}

function hex(secret: string, data: string | Buffer): string {
  return createHmac('sha256', secret).update(data).digest('hex');
}

const STANDARD_SECRET = `whsec_${Buffer.from('a secret that has 32 bytes, yes.').toString('base64')}`;

function standard(body: string | Buffer = EVENT, { secret = STANDARD_SECRET, id = 'msg_1', seconds = SECONDS } = {}): Record<string, string> {
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': new Webhook(secret).sign(id, new Date(seconds * 1000), body) };
}

const STRIPE_SECRET = 'whsec_test_4eC39HqLyjWDarjtT1zdp7dc';

function stripe(body: string = EVENT, { secret = STRIPE_SECRET, seconds = SECONDS } = {}): Record<string, string> {
  return { 'stripe-signature': Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: seconds }) };
}

/** What the publisher's own library says of a header with a list, where it has one: 'accepted' or INVALID. */
function publishersWord(preset: Preset, text: string): string {
  jest.spyOn(Date, 'now').mockReturnValue(NOW);
  try {
    if (preset === 'standard') new Webhook(STANDARD_SECRET).verify(EVENT, { ...standard(), 'webhook-signature': text });
    else if (preset === 'stripe') Stripe.webhooks.signature!.verifyHeader(EVENT, text, STRIPE_SECRET, 300, undefined as never, NOW);
    else return INVALID;
    return 'accepted';
  } catch {
    return INVALID;
  }
}

const SLACK_SECRET = '8f742231b10e8888abcd99yyyzzz85a5';

function slack(body: string | Buffer = EVENT, { secret = SLACK_SECRET, seconds = SECONDS } = {}): Record<string, string> {
  return { 'x-slack-request-timestamp': String(seconds), 'x-slack-signature': `v0=${hex(secret, Buffer.concat([Buffer.from(`v0:${seconds}:`), Buffer.from(body as string)]))}` };
}

const GITHUB_SECRET = "It's a Secret to Everybody";

function github(body: string | Buffer = EVENT, { secret = GITHUB_SECRET } = {}): Record<string, string> {
  return { 'x-hub-signature-256': `sha256=${hex(secret, body as string)}` };
}

/** Every preset, with a request that passes: its secret, its signing, the header that holds the signature. */
const PRESETS: readonly [Preset, string, (body?: string, options?: { secret?: string; seconds?: number }) => Record<string, string>, string][] = [
  ['standard', STANDARD_SECRET, standard, 'webhook-signature'],
  ['stripe', STRIPE_SECRET, stripe, 'stripe-signature'],
  ['github', GITHUB_SECRET, github, 'x-hub-signature-256'],
  ['slack', SLACK_SECRET, slack, 'x-slack-signature'],
];
const TIMED = PRESETS.filter(([preset]) => preset !== 'github');
const OTHER_SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX';

afterEach(() => {
  jest.restoreAllMocks();
});

describe('the published examples', () => {
  test('of Standard Webhooks', () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    };
    const body = '{"test": 2432232314}';
    for (const secret of ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']) {
      expect(judge(scheme('standard', secret), headers, body, 1_614_265_330_000)).toBe('accepted');
    }
    expect(judge(scheme('standard', OTHER_SECRET), headers, body, 1_614_265_330_000)).toBe(INVALID);
  });

  test('of GitHub', () => {
    const headers = { 'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' };
    expect(judge(scheme('github', "It's a Secret to Everybody"), headers, 'Hello, World!')).toBe('accepted');
    expect(judge(scheme('github', "It's a Secret to Everybody"), headers, 'Hello, World?')).toBe(INVALID);
  });

  test('of Slack', () => {
    const headers = { 'x-slack-request-timestamp': '1531420618', 'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503' };
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA' +
      '&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554' +
      '%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
    expect(judge(scheme('slack', SLACK_SECRET), headers, body, 1_531_420_618_000)).toBe('accepted');
    expect(judge(scheme('slack', SLACK_SECRET), headers, `${body}&text=more`, 1_531_420_618_000)).toBe(INVALID);
  });
});

describe("the services' own libraries", () => {
  const payloads = fc.oneof(fc.json(), fc.string({ unit: 'grapheme', minLength: 1 }), fc.constant('\ufeff{"bom":true}'));

  test('standardwebhooks signs what passes', () => {
    const keys = fc.uint8Array({ minLength: 1, maxLength: 64 }).filter((bytes) => bytes.some((byte) => byte !== 0));
    const ids = fc.stringMatching(/^[\w:/+=-]{1,40}$/);
    fc.assert(
      fc.property(keys, ids, payloads, fc.boolean(), (key, id, payload, prefixed) => {
        const secret = (prefixed ? 'whsec_' : '') + Buffer.from(key).toString('base64');
        expect(judge(scheme('standard', secret), standard(payload, { secret, id }), payload)).toBe('accepted');
      }),
      { numRuns: 200 },
    );
  });

  test('stripe signs what passes', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^whsec_\w{8,40}$/), payloads, (secret, payload) => {
        expect(judge(scheme('stripe', secret), stripe(payload, { secret }), payload)).toBe('accepted');
      }),
      { numRuns: 200 },
    );
  });

  test('@octokit/webhooks-methods signs what passes, and takes what passes', () => {
    // It is a module of ECMAScript alone, so it runs in a process of its own, for all samples at once.
    const program = `
      import { text } from 'node:stream/consumers';
      import { sign, verify } from '@octokit/webhooks-methods';
      const out = [];
      for (const [secret, payload, own] of JSON.parse(await text(process.stdin))) {
        out.push([await sign(secret, payload), await verify(secret, payload, own)]);
      }
      console.log(JSON.stringify(out));`;
    const samples = fc.sample(fc.tuple(fc.string({ minLength: 1 }).filter((text) => !/^\0+$/.test(text)), payloads), { numRuns: 200 });
    const input = JSON.stringify(samples.map(([secret, payload]) => [secret, payload, github(payload, { secret })['x-hub-signature-256']]));
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { input, cwd: __dirname, encoding: 'utf8' });
    const answers = JSON.parse(output) as [string, boolean][];
    expect(answers).toHaveLength(samples.length);
    for (const [index, [signature, verified]] of answers.entries()) {
      const [secret, payload] = samples[index]!;
      expect(verified).toBe(true);
      expect(judge(scheme('github', secret), { 'x-hub-signature-256': signature }, payload)).toBe('accepted');
    }
  });

  test('openssl signs as Slack does', () => {
    const signed = execFileSync('openssl', ['dgst', '-sha256', '-hmac', SLACK_SECRET, '-r'], { input: `v0:${SECONDS}:${EVENT}`, encoding: 'utf8' });
    const headers = { 'x-slack-request-timestamp': String(SECONDS), 'x-slack-signature': `v0=${signed.slice(0, 64)}` };
    expect(judge(scheme('slack', SLACK_SECRET), headers)).toBe('accepted');
  });

  test('standardwebhooks and stripe take and refuse the same ages, second by second', () => {
    const ages = fc.oneof(fc.integer({ min: -400_000, max: 400_000 }), fc.constantFrom(-300_999, -300_001, -300_000, -299_999, 0, 299_999, 300_000, 300_499, 300_999, 301_000));
    fc.assert(
      fc.property(ages, (age) => {
        const now = SECONDS * 1000 + age;
        jest.spyOn(Date, 'now').mockReturnValue(now);
        const headers = standard();
        const takes = (verify: () => unknown): boolean => {
          try {
            verify();
            return true;
          } catch {
            return false;
          }
        };
        expect(judge(scheme('standard', STANDARD_SECRET), headers, EVENT, now) === 'accepted').toBe(takes(() => new Webhook(STANDARD_SECRET).verify(EVENT, headers)));
        const header = stripe()['stripe-signature']!;
        const taken = takes(() => Stripe.webhooks.signature!.verifyHeader(EVENT, header, STRIPE_SECRET, 300, undefined as never, now));
        // Stripe's library takes any time to come.
        if (age > -300_000) expect(judge(scheme('stripe', STRIPE_SECRET), { 'stripe-signature': header }, EVENT, now) === 'accepted').toBe(taken);
      }),
      { numRuns: 300 },
    );
  });

  test('the libraries and waypost take the same lists, but for the bounds', () => {
    const good = standard()['webhook-signature']!;
    const hexGood = hex(STRIPE_SECRET, `${SECONDS}.${EVENT}`);
    const wrong = hex(OTHER_SECRET, EVENT);
    const list = (entries: readonly string[], usual: string): fc.Arbitrary<string> => fc.array(
      fc.tuple(fc.constantFrom(...entries), fc.constantFrom(usual, usual, usual, ', ', ' ', ',', '  ', '=', '\t', '')), { minLength: 1, maxLength: 7 },
    ).map((parts) => parts.flat().join(''));
    const lists = {
      standard: list([good, good, `v1,${wrong}`, 'v1a,x', 'v2,x', 'v1', 'v1,', 'foreign', '', good.slice(3), `${good},x`], ' '),
      stripe: list([`t=${SECONDS}`, `t=${SECONDS}`, `t=${SECONDS}=x`, `v1=${hexGood}`, `v1=${hexGood}`, `v1=${wrong}`, `v1=${hexGood}=x`, `v0=${hexGood}`, 'v1', 'v1=', 'foreign', 'a b=c', '', hexGood], ','),
    };
    const ownSides = { standard: 0, stripe: 0 };
    fc.assert(
      fc.property(fc.constantFrom('standard' as const, 'stripe' as const).chain((preset) => lists[preset].map((text) => [text, preset] as const)), ([text, preset]) => {
        const headers = preset === 'standard' ? { ...standard(), 'webhook-signature': text } : { 'stripe-signature': text };
        const word = judge(scheme(preset, preset === 'standard' ? STANDARD_SECRET : STRIPE_SECRET), headers);
        // A time has one spelling here: their libraries read as many digits as there are.
        // An entry without a value trips Stripe's library alone.
        if (preset === 'stripe' && /(?:^|,)v1(?:=?(?:,|$)|==)/.test(text)) return;
        if (preset === 'stripe' && /(?:^|,)t=(?!\d{10}(?:[,=]|$))/.test(text)) return;
        if (word === 'accepted') ownSides[preset]++;
        expect([text, word]).toEqual([text, publishersWord(preset, text)]);
      }),
      { numRuns: 3000 },
    );
    expect(Math.min(ownSides.standard, ownSides.stripe)).toBeGreaterThan(100);
  });

  test('what passes with any time in the headers, standardwebhooks takes too', () => {
    jest.spyOn(Date, 'now').mockReturnValue(NOW);
    for (const timestamp of [` ${SECONDS}`, `${SECONDS}`, `0${SECONDS}`, `+${SECONDS}`, `${SECONDS}.0`, '17e8']) {
      const headers = { ...standard(), 'webhook-timestamp': timestamp };
      if (judge(scheme('standard', STANDARD_SECRET), headers) === 'accepted') expect(() => new Webhook(STANDARD_SECRET).verify(EVENT, headers)).not.toThrow();
    }
  });
});

describe.each(PRESETS)('%s', (preset, secret, sign, headerName) => {
  const checked = scheme(preset, secret);

  test('accepts what is signed with the secret, and refuses every change of a byte of the body', () => {
    expect(judge(checked, sign())).toBe('accepted');
    fc.assert(
      fc.property(fc.nat({ max: EVENT.length - 1 }), fc.integer({ min: 1, max: 255 }), (index, flip) => {
        const body = Buffer.from(EVENT);
        body[index]! ^= flip;
        expect(judge(checked, sign(), body)).toBe(INVALID);
      }),
      { numRuns: 100 },
    );
    for (const body of ['', `${EVENT}\n`, ` ${EVENT}`, `\ufeff${EVENT}`, EVENT.slice(1)]) expect(judge(checked, sign(), body)).toBe(INVALID);
  });

  test('refuses every change of a character of the signature', () => {
    const headers = sign();
    const digits = (headers[headerName] as string).length;
    fc.assert(
      fc.property(fc.nat({ max: digits - 1 }), fc.integer({ min: 0x20, max: 0x7e }), (index, code) => {
        const text = headers[headerName] as string;
        const changed = text.slice(0, index) + String.fromCharCode(code) + text.slice(index + 1);
        fc.pre(changed !== text);
        expect(judge(checked, { ...headers, [headerName]: changed })).not.toBe('accepted');
      }),
      { numRuns: 500 },
    );
  });

  test('names its header where that is missing', () => {
    const { [headerName]: _, ...rest } = sign();
    expect(judge(checked, rest)).toBe(MISSING);
    expect(judge(checked, {})).toBe(MISSING);
    const body = failureBody('missing', checked.headerName);
    expect(body.error).toBe('Missing signature header');
    expect(body.message.toLowerCase()).toBe(`${headerName} header is required`);
    expect(checked.challenge.toLowerCase()).toBe(`signature header="${headerName}", algorithm="hmac-sha256"`);
    expect(checked.readsBody).toBe(true);
  });

  test('says of one that comes twice, is empty, or stands in a list what the publisher says; without a list it is refused', () => {
    const headers = sign();
    const text = headers[headerName] as string;
    const wrong = ['', ' ', `${text}, ${text}`, `${text},`, `,${text}`, ` ${text}`, `${text} `, `${text}\t`, `"${text}"`, `${text};q=1`, text.toUpperCase(), `${text}00`, text.slice(0, -2), `${text}\0`];
    for (const value of wrong) expect([value, judge(checked, { ...headers, [headerName]: value })]).toEqual([value, publishersWord(preset, value)]);
    // Node gives an array for no header of these names; a foreign request may.
    for (const list of [[text, text], [text], []]) expect(judge(checked, { ...headers, [headerName]: list })).toBe(INVALID);
  });

  test('accepts POST alone, whatever was signed', () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'post']) expect(judge(checked, sign(), EVENT, NOW, method)).toBe(INVALID);
  });

  test('tries every secret, wherever the right one stands', () => {
    for (const secrets of [[secret, OTHER_SECRET], [OTHER_SECRET, secret], [OTHER_SECRET, OTHER_SECRET, secret]]) expect(judge(scheme(preset, secrets), sign())).toBe('accepted');
    expect(judge(scheme(preset, OTHER_SECRET), sign())).toBe(INVALID);
    expect(judge(scheme(preset, []), sign())).toBe(INVALID);
  });

  test('gives one request one digest, whichever secret signed, and another to another', () => {
    const request = { method: 'POST', target: '/hook', headers: sign() };
    const both = scheme(preset, [OTHER_SECRET, secret]);
    const digest = accepted(verdictOf(both, request, Buffer.from(EVENT), NOW)).digest;
    expect(digest).toMatch(new RegExp(`^webhook:${preset}:/hook:[0-9a-f]{64}$`));
    const other = accepted(verdictOf(both, { ...request, headers: sign(EVENT, { secret: OTHER_SECRET }) }, Buffer.from(EVENT), NOW)).digest;
    expect(other).toBe(digest);
    expect(accepted(verdictOf(both, { ...request, headers: sign('{}') }, Buffer.from('{}'), NOW)).digest).not.toBe(digest);
  });

  test('hashes bytes, never text: what decodes alike is told apart', () => {
    const [one, two] = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])] as const;
    // The libraries sign text, so the bytes are signed by hand.
    const prefix = { standard: `msg_1.${SECONDS}.`, stripe: `${SECONDS}.`, github: '', slack: `v0:${SECONDS}:` }[preset];
    const key = preset === 'standard' ? Buffer.from(secret.slice(6), 'base64') : secret;
    const mac = createHmac('sha256', key).update(prefix).update(one).digest();
    const value = { standard: `v1,${mac.toString('base64')}`, stripe: `t=${SECONDS},v1=${mac.toString('hex')}`, github: `sha256=${mac.toString('hex')}`, slack: `v0=${mac.toString('hex')}` }[preset];
    const headers = { ...sign(), [headerName]: value };
    expect(judge(checked, headers, one)).toBe('accepted');
    expect(judge(checked, headers, two)).toBe(INVALID);
  });

  test('takes no body for an empty one', () => {
    const request = { method: 'POST', target: '/hook', headers: {} };
    const empty = preset === 'stripe' ? { 'stripe-signature': `t=${SECONDS},v1=${hex(secret, `${SECONDS}.`)}` } : sign('');
    expect(isRejection(verdictOf(checked, { ...request, headers: empty }, undefined, NOW))).toBe(false);
    expect(isRejection(verdictOf(checked, { ...request, headers: sign() }, undefined, NOW))).toBe(true);
  });

  test('describes what was checked without secret or signature', () => {
    const text = JSON.stringify(partsOf(checked, { method: 'POST', target: '/hook', headers: sign() }, Buffer.from(EVENT), NOW));
    expect(text).toContain(`"bytes":${EVENT.length}`);
    expect(text).not.toContain(secret);
    expect(text).not.toContain(/[\w+/=]{43,}$/.exec(sign()[headerName] as string)![0]);
  });
});

describe.each(TIMED)('the time of %s', (preset, secret, sign, headerName) => {
  const strict = scheme(preset, secret, { maxAge: 60_000, clockSkew: 10_000 });
  /** The same request with that text for its time, signed over it. */
  function stamped(text: string): Record<string, string> {
    if (preset === 'standard') {
      const mac = createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(`msg_1.${text}.${EVENT}`).digest('base64');
      return { 'webhook-id': 'msg_1', 'webhook-timestamp': text, [headerName]: `v1,${mac}` };
    }
    if (preset === 'stripe') return { [headerName]: `t=${text},v1=${hex(secret, `${text}.${EVENT}`)}` };
    return { 'x-slack-request-timestamp': text, [headerName]: `v0=${hex(secret, `v0:${text}:${EVENT}`)}` };
  }

  test.each([
    [-11, INVALID], [-10, 'accepted'], [0, 'accepted'], [60, 'accepted'], [61, EXPIRED], [86_400, EXPIRED],
  ])('%i seconds old', (age, outcome) => {
    expect(judge(strict, sign(EVENT, { seconds: SECONDS - age }))).toBe(outcome);
  });

  test('is checked again with the bytes', () => {
    const request = { method: 'POST', target: '/hook', headers: sign() };
    expect(refusalOf(strict, request, NOW)).toBeNull();
    expect(verdictOf(strict, request, Buffer.from(EVENT), NOW, NOW + 61_000)).toMatchObject({ failure: 'expired' });
  });

  test('must not be NaN, on either side', () => {
    expect(judge(strict, sign(), EVENT, NaN)).toBe(INVALID);
  });

  test('is ten decimal digits, however well another form is signed', () => {
    expect(judge(strict, stamped(String(SECONDS)))).toBe('accepted');
    const forms = ['', '0', '-1', `${SECONDS * 1000}`, `0${SECONDS}`, `+${SECONDS}`, `-${SECONDS}`, ` ${SECONDS}`, `${SECONDS} `, `${SECONDS}.0`, `${SECONDS}.`, '1.7e9', '0x6553f100', 'NaN', 'Infinity', `${SECONDS}, ${SECONDS}`, '１７００００００００', `${SECONDS}\n`, '1_700_000_000', '170000000'];
    for (const form of forms) expect([form, judge(strict, stamped(form))]).toEqual([form, INVALID]);
  });

  test('says until when the signature would be accepted again', () => {
    const request = { method: 'POST', target: '/hook', headers: sign() };
    for (const clockSkew of [0, 10_000]) {
      const checked = scheme(preset, secret, { maxAge: 60_000, clockSkew });
      const { expires } = accepted(verdictOf(checked, request, Buffer.from(EVENT), NOW));
      expect(isRejection(verdictOf(checked, request, Buffer.from(EVENT), SECONDS * 1000 + 60_999))).toBe(false);
      expect(expires).toBeGreaterThan(SECONDS * 1000 + 60_999);
      expect(isRejection(verdictOf(checked, request, Buffer.from(EVENT), expires))).toBe(true);
    }
  });
});

test('github signs no time: its signature never ends', () => {
  const request = { method: 'POST', target: '/hook', headers: github() };
  const verdict = verdictOf(scheme('github', GITHUB_SECRET, { maxAge: 1, clockSkew: 0 }), request, Buffer.from(EVENT), NOW + 1e12);
  expect(accepted(verdict).expires).toBe(Infinity);
});

describe('the lists of standard and stripe', () => {
  const checked = scheme('standard', STANDARD_SECRET);
  const good = standard()['webhook-signature']!;
  const bad = `v1,${noise(32).toString('base64')}`;
  const list = (value: string): string => judge(checked, { ...standard(), 'webhook-signature': value });
  const stripeGood = hex(STRIPE_SECRET, `${SECONDS}.${EVENT}`);
  const stripeList = (value: string): string => judge(scheme('stripe', STRIPE_SECRET), { 'stripe-signature': value });

  test('hold the signatures of old and new secrets, in any order', () => {
    for (const value of [`${good} ${bad}`, `${bad} ${good}`, `${bad} ${bad} ${good}`]) expect(list(value)).toBe('accepted');
    const wrong = 'v1=' + '0'.repeat(64);
    for (const value of [`t=${SECONDS},v1=${stripeGood},${wrong}`, `t=${SECONDS},${wrong},v1=${stripeGood}`, `v1=${stripeGood},t=${SECONDS}`]) expect(stripeList(value)).toBe('accepted');
  });

  test('may name other versions, which are passed over', () => {
    const asymmetric = `v1a,${noise(64).toString('base64')}`;
    expect(list(`${asymmetric} ${good}`)).toBe('accepted');
    expect(list(asymmetric)).toBe(INVALID);
    // Told by the headers alone, before a byte of the body is read.
    expect(refusalOf(checked, { method: 'POST', target: '/hook', headers: { ...standard(), 'webhook-signature': asymmetric } }, NOW)).toMatchObject({ failure: 'invalid' });
    expect(list(good.replace('v1,', 'v2,'))).toBe(INVALID);
    expect(stripeList(`t=${SECONDS},v1=${stripeGood},v0=${'0'.repeat(64)}`)).toBe('accepted');
    // The fake signature of test mode must never stand in for a real one.
    expect(stripeList(`t=${SECONDS},v0=${stripeGood}`)).toBe(INVALID);
  });

  test('hold a few signatures, not thousands', () => {
    const several = (n: number): string => Array.from({ length: n }, () => bad).join(' ');
    expect(list(`${several(15)} ${good}`)).toBe('accepted');
    expect(list(`${several(16)} ${good}`)).toBe(INVALID);
    expect(list(`${'v2,A '.repeat(2000)}${good}`)).toBe(INVALID);
    const many = (n: number): string => `,v1=${'0'.repeat(64)}`.repeat(n);
    expect(stripeList(`t=${SECONDS}${many(15)},v1=${stripeGood}`)).toBe('accepted');
    expect(stripeList(`t=${SECONDS}${many(16)},v1=${stripeGood}`)).toBe(INVALID);
    expect(stripeList(`t=${SECONDS}${',a=b'.repeat(2000)},v1=${stripeGood}`)).toBe(INVALID);
  });

  test('of standard are pairs between spaces, and canonical base64', () => {
    const mac = good.slice(3);
    const last = mac[42]!;
    // The next digit of the alphabet has the same four upper bits, so that a lax decoder takes it for the same byte.
    const twin = mac.slice(0, 42) + String.fromCharCode(last.charCodeAt(0) + 1) + '=';
    expect(Buffer.from(twin, 'base64').equals(Buffer.from(mac, 'base64'))).toBe(/[A-Za-z0-9]/.test(twin[42]!));
    const url = Buffer.alloc(32, 0xfb);
    for (const value of [twin, mac.slice(0, 43), `${mac}=`, `${mac}A`, `${mac}\n`, url.toString('base64url'), `${url.toString('base64url')}=`, Buffer.from(mac, 'base64').toString('hex')]) {
      expect([value, list(`v1,${value}`)]).toEqual([value, INVALID]);
    }
    for (const value of [`${good}  ${bad}`, `${bad} v2 ,, ${good},x`]) expect([value, list(value)]).toEqual([value, 'accepted']);
    for (const value of [`${good}\t${bad}`, `v1,${good}`, good.slice(3), `v1 ${mac}`, `v1=${mac}`, `V1,${mac}`, 'v1,']) expect([value, list(value)]).toEqual([value, INVALID]);
  });

  test('of stripe name a time, of which the last counts', () => {
    for (const value of [`t=1,t=${SECONDS},v1=${stripeGood},`, `foreign, t=1,t=${SECONDS},v1=A,v1=${stripeGood}`]) {
      expect([value, stripeList(value)]).toEqual([value, 'accepted']);
    }
    for (const value of [`t=${SECONDS},t=${SECONDS - 1},v1=${stripeGood}`, `t=${SECONDS},t=,v1=${stripeGood}`, `v1=${stripeGood}`, `t=,v1=${stripeGood}`, `T=${SECONDS},v1=${stripeGood}`, `t=${SECONDS}, v1=${stripeGood}`, `t=${SECONDS};v1=${stripeGood}`, `t=${SECONDS},v1=${stripeGood.toUpperCase()}`, `t=${SECONDS}`]) {
      expect([value, stripeList(value)]).toEqual([value, INVALID]);
    }
  });
});

describe('the id of standard', () => {
  test('may not hold what would let it run into the time and the body', () => {
    const key = Buffer.from(STANDARD_SECRET.slice(6), 'base64');
    const sign = (id: string): Record<string, string> => ({
      'webhook-id': id,
      'webhook-timestamp': String(SECONDS),
      'webhook-signature': `v1,${createHmac('sha256', key).update(`${id}.${SECONDS}.${EVENT}`).digest('base64')}`,
    });
    const checked = scheme('standard', STANDARD_SECRET);
    for (const id of ['msg_1', 'evt:1/2+3=', '~', 'msg 1', 'a'.repeat(300), 'a'.repeat(2048)]) expect([id, judge(checked, sign(id))]).toEqual([id, 'accepted']);
    for (const id of ['', 'a.b', `a.${SECONDS}`, 'a, a', 'ä', 'a\t', 'a'.repeat(2049)]) expect([id, judge(checked, sign(id))]).toEqual([id, INVALID]);
    // The shift itself: signed as id `a` and a body that begins with another time.
    const shifted = { ...sign('a'), 'webhook-id': `a.${SECONDS - 100}`, 'webhook-signature': `v1,${createHmac('sha256', key).update(`a.${SECONDS - 100}.${SECONDS}.{}`).digest('base64')}` };
    expect(judge(checked, shifted, '{}')).toBe(INVALID);
  });

  test('and the time must be there', () => {
    for (const name of ['webhook-id', 'webhook-timestamp']) {
      const { [name]: _, ...rest } = standard();
      expect(judge(scheme('standard', STANDARD_SECRET), rest)).toBe(INVALID);
    }
    const { 'x-slack-request-timestamp': _, ...rest } = slack();
    expect(judge(scheme('slack', SLACK_SECRET), rest)).toBe(INVALID);
  });
});

describe("Svix's names for the headers of standard", () => {
  const checked = scheme('standard', STANDARD_SECRET);
  const asSvix = (headers: Record<string, string>): Record<string, string> => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]));

  test('count where they stand alone, mixed, or say the same', () => {
    const { 'webhook-id': id = '', ...rest } = standard();
    for (const headers of [asSvix(standard()), { ...standard(), ...asSvix(standard()) }, { 'webhook-id': id, ...asSvix(rest) }]) expect(judge(checked, headers)).toBe('accepted');
    for (const name of Object.keys(asSvix(standard()))) {
      const { [name]: _, ...others } = asSvix(standard());
      expect([name, judge(checked, others)]).toEqual([name, name === 'svix-signature' ? MISSING : INVALID]);
    }
  });

  test('let nothing through that was not checked', () => {
    for (const [name, value] of Object.entries(standard())) {
      for (const other of [`${value}0`, '']) {
        expect([name, judge(checked, { ...standard(), [name.replace('webhook-', 'svix-')]: other })]).toEqual([name, INVALID]);
        expect([name, judge(checked, { ...asSvix(standard()), [name]: other })]).toEqual([name, INVALID]);
      }
    }
  });
});

describe('a secret of standard', () => {
  test.each([
    ['other text', 'whsec_not base64!'],
    ['nothing behind its prefix', 'whsec_'],
    ['base64 without padding', 'whsec_AQIDBA'],
    ['base64url', 'whsec_-_-_-_-_'],
    ['a line feed at its end', `${STANDARD_SECRET}\n`],
    ['two prefixes', `whsec_${STANDARD_SECRET}`],
    ['bytes of zero alone, which are the empty key', 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['the key of an asymmetric signature', `whpk_${Buffer.alloc(32, 7).toString('base64')}`],
  ])('is refused at once when it is %s', (_name, secret) => {
    const make = (): unknown => scheme('standard', ['whsec_AQIDBAUG', secret]);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(/secret for "\/hook" must be .*preset "standard".*write "whsec_"/);
    expect(make).toThrow(expect.objectContaining({ message: expect.not.stringContaining(secret.slice(6) || '\0') as string }) as Error);
  });
});
