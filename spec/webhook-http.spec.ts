import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { type Application, createServer, type CreateServerOptions, type Handler, signRequest, type WebhookConfig } from 'waypost';
import { ChildProgram, ROOT } from './support/child-program';
import { LogRecorder, Running } from './support/running';
import { type Answer, ask, head, post, Wire } from './support/wire';

const NOW = 1_700_000_000_000;
const INVALID = { error: 'Invalid signature', message: 'Request signature verification failed' };
const EXPIRED = { error: 'Signature expired', message: 'Request signature has expired' };
const EVENT = '{"type":"order.paid","id":7}';

type Sign = (body: string | Buffer, secret?: string, seconds?: number) => Record<string, string>;

function hmac(secret: string | Buffer, ...data: (string | Buffer)[]): Buffer {
  const mac = createHmac('sha256', secret);
  for (const part of data) mac.update(part);
  return mac.digest();
}

/** The presets of these specs; webhook-preset.spec.ts has the others. */
type Preset = 'standard' | 'stripe' | 'github' | 'slack';

const SECRETS: Readonly<Record<Preset, string>> = {
  standard: `whsec_${Buffer.from('a secret that has 32 bytes, yes.').toString('base64')}`,
  stripe: 'whsec_test_4eC39HqLyjWDarjtT1zdp7dc',
  github: "It's a Secret to Everybody",
  slack: '8f742231b10e8888abcd99yyyzzz85a5',
};

// By the formats that the services publish, over any bytes: their libraries sign text alone.
const SIGN: Readonly<Record<Preset, Sign>> = {
  standard: (body, secret = SECRETS.standard, seconds = NOW / 1000) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${hmac(Buffer.from(secret.slice(6), 'base64'), `msg_1.${seconds}.`, body).toString('base64')}`,
  }),
  stripe: (body, secret = SECRETS.stripe, seconds = NOW / 1000) => ({ 'Stripe-Signature': `t=${seconds},v1=${hmac(secret, `${seconds}.`, body).toString('hex')}` }),
  github: (body, secret = SECRETS.github) => ({ 'X-Hub-Signature-256': `sha256=${hmac(secret, body).toString('hex')}` }),
  slack: (body, secret = SECRETS.slack, seconds = NOW / 1000) => ({
    'X-Slack-Request-Timestamp': String(seconds),
    'X-Slack-Signature': `v0=${hmac(secret, `v0:${seconds}:`, body).toString('hex')}`,
  }),
};
const HEADER: Readonly<Record<Preset, string>> = { standard: 'webhook-signature', stripe: 'Stripe-Signature', github: 'X-Hub-Signature-256', slack: 'X-Slack-Signature' };
const PRESETS = Object.keys(SECRETS) as Preset[];

const running = new Running();
let handled: number;

beforeEach(() => {
  handled = 0;
  jest.spyOn(Date, 'now').mockReturnValue(NOW);
});

afterEach(async () => {
  jest.restoreAllMocks();
  await running.close();
});

const echo: Handler = (req, res) => {
  handled++;
  res.json({ body: req.body ?? null, raw: req.rawBody?.toString('base64') ?? null });
};

function hooks(rest: Partial<WebhookConfig> = {}): WebhookConfig[] {
  return PRESETS.map((preset) => ({ path: `/hooks/${preset}`, preset, secret: SECRETS[preset], ...rest }));
}

function serve(options: CreateServerOptions = {}, register: (app: Application) => void = (app) => app.all(['/', '/**'] as string[], echo)): Promise<number> {
  return running.app(register, { security: { webhooks: hooks() }, ...options });
}

function refused(answer: Answer, preset: Preset, body: object): void {
  expect([answer.status, answer.json]).toEqual([401, body]);
  expect(answer.headers['www-authenticate']).toBe(`Signature header="${HEADER[preset]}", algorithm="hmac-sha256"`);
  expect(handled).toBe(0);
}

describe.each(PRESETS)('a webhook of %s', (preset) => {
  const path = `/hooks/${preset}`;
  const sign = SIGN[preset];

  test('reaches its handler, which sees the parsed body and the bytes', async () => {
    const port = await serve();
    expect((await post(port, path, EVENT, 'application/json', sign(EVENT))).json).toEqual({ body: { type: 'order.paid', id: 7 }, raw: Buffer.from(EVENT).toString('base64') });
    // None of them signs the query; a service may be told a URL with one.
    expect((await post(port, `${path}?tenant=a`, EVENT, 'application/json', sign(EVENT))).status).toBe(200);
    const form = 'payload=%7B%7D&a=b+c';
    expect((await post(port, path, form, 'application/x-www-form-urlencoded', sign(form))).json).toMatchObject({ body: { payload: '{}', a: 'b c' } });
  });

  test('is refused without a signature, with another secret, and with another body', async () => {
    const port = await serve();
    refused(await post(port, path, EVENT), preset, { error: 'Missing signature header', message: `${HEADER[preset]} header is required` });
    refused(await post(port, path, EVENT, 'application/json', sign(EVENT, 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX')), preset, INVALID);
    refused(await post(port, path, EVENT.replace('7', '8'), 'application/json', sign(EVENT)), preset, INVALID);
    for (const other of PRESETS.filter((name) => name !== preset)) {
      expect((await post(port, path, EVENT, 'application/json', SIGN[other](EVENT))).status).toBe(401);
    }
    expect(handled).toBe(0);
  });

  test('is checked over its bytes, whatever they are', async () => {
    const port = await serve({}, (app) => app.post('/hooks/*', async (req, res) => res.send(await buffer(req))));
    const bodies: [string, Buffer][] = [
      ['application/json', Buffer.from('\ufeff{"bom":1}')],
      ['application/json; charset=utf-16le', Buffer.from('{"wide":1}', 'utf16le')],
      ['application/octet-stream', Buffer.from([0xff, 0xfe, 0, 13, 10])],
      ['text/plain; charset=iso-8859-1', Buffer.from('gr\xfc\xdfe', 'latin1')],
      ['multipart/form-data; boundary=x', Buffer.from('--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n')],
    ];
    for (const [type, body] of bodies) {
      const passed = await post(port, path, body, type, sign(body));
      expect([type, passed.status, passed.bytes.equals(body)]).toEqual([type, 200, true]);
      const reread = Buffer.from(body.toString());
      // Bytes that decode to the same text are not the same bytes.
      if (!reread.equals(body)) expect((await post(port, path, reread, type, sign(body))).status).toBe(401);
    }
  });

  test('that holds malformed JSON is refused as such only when its signature holds', async () => {
    const port = await serve();
    const broken = '{"type":';
    expect((await post(port, path, broken, 'application/json', sign(broken))).status).toBe(400);
    refused(await post(port, path, broken, 'application/json', sign(EVENT)), preset, INVALID);
    const poison = '{"__proto__":{"admin":true}}';
    expect((await post(port, path, poison, 'application/json', sign(poison))).status).toBe(400);
  });

  test('that is compressed is signed over the wire bytes, and parsed inflated', async () => {
    const port = await serve();
    const packed = gzipSync(EVENT);
    const encoding = { 'content-encoding': 'gzip' };
    expect((await post(port, path, packed, 'application/json', { ...sign(packed), ...encoding })).json).toMatchObject({ body: { id: 7 }, raw: packed.toString('base64') });
    handled = 0;
    refused(await post(port, path, packed, 'application/json', { ...sign(EVENT), ...encoding }), preset, INVALID);
  });

  test('in chunks is the same', async () => {
    const port = await serve();
    const chunks = `5\r\n${EVENT.slice(0, 5)}\r\n${(EVENT.length - 5).toString(16)}\r\n${EVENT.slice(5)}\r\n0\r\n\r\n`;
    const headers = { ...sign(EVENT), 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked', Connection: 'close' };
    expect(await Wire.tell(port, head(`POST ${path}`, headers) + chunks)).toContain('"body":{"type":"order.paid","id":7}');
    expect(await Wire.tell(port, head(`POST ${path}`, headers) + chunks.replace(':7', ':8'))).toMatch(/^HTTP\/1\.1 401 /);
  });

  test('that is too large is answered 413, announced or not', async () => {
    const port = await serve({ body: { limit: 100 } });
    const large = 'x'.repeat(101);
    expect((await post(port, path, large, 'text/plain', sign(large))).status).toBe(413);
    const headers = { ...sign(large), 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' };
    expect(await Wire.tell(port, `${head(`POST ${path}`, headers)}65\r\n${large}\r\n0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 413 /);
    // What has no signature is not even read.
    expect((await post(port, path, large, 'text/plain')).status).toBe(401);
    expect(handled).toBe(0);
  });

  test('whose signature header stands there twice is refused', async () => {
    const port = await serve();
    const { [HEADER[preset]]: signature, ...rest } = sign(EVENT);
    const twice = head(`POST ${path}`, { ...rest, 'Content-Length': EVENT.length, Connection: 'close' }).replace('\r\n\r\n', `\r\n${`${HEADER[preset]}: ${signature}\r\n`.repeat(2)}\r\n`);
    expect(await Wire.tell(port, twice + EVENT)).toMatch(/^HTTP\/1\.1 401 /);
    expect(handled).toBe(0);
  });

  test('by another method than POST is refused', async () => {
    const port = await serve();
    refused(await ask(port, path), preset, { error: 'Missing signature header', message: `${HEADER[preset]} header is required` });
    for (const method of ['GET', 'PUT', 'DELETE']) refused(await ask(port, path, { method, headers: sign('') }), preset, INVALID);
  });

  test('takes its secrets one after another', async () => {
    const other = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX';
    const port = await serve({ security: { webhooks: [{ path, preset, secret: [other, SECRETS[preset]] }] } });
    for (const secret of [other, SECRETS[preset]]) expect((await post(port, path, EVENT, 'application/json', sign(EVENT, secret))).status).toBe(200);
  });

  if (preset !== 'github') {
    test('is refused when it is stale, or from the future', async () => {
      const port = await serve({ security: { webhooks: [{ path, preset, secret: SECRETS[preset], maxAge: 60_000, clockSkew: 10_000 }] } });
      const aged = (age: number): Promise<Answer> => post(port, path, EVENT, 'application/json', sign(EVENT, undefined, NOW / 1000 - age));
      refused(await aged(61), preset, EXPIRED);
      refused(await aged(-11), preset, INVALID);
      expect([(await aged(60)).status, (await aged(-10)).status]).toEqual([200, 200]);
    });
  }

  test('cannot be had unsigned by another spelling of its path', async () => {
    const port = await serve({ routing: { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true } });
    const spellings = [`${path}/`, path.toUpperCase(), path.replace('/hooks', '//hooks'), path.replace('hooks', 'h%6foks'), `${path}.xJson`, `/x/..${path}`, path.replace('hooks/', 'hooks%2f'), `${path};a=b`, `http://localhost${path}`, `${path}?a`];
    for (const spelling of spellings) expect([spelling, (await post(port, spelling, EVENT)).status]).toEqual([spelling, 401]);
    expect(handled).toBe(0);
  });

  test('leaves the log free of secret and signature', async () => {
    const logger = new LogRecorder();
    const port = await serve({ logging: { logger }, security: { webhooks: hooks({ debug: true }) } });
    const { status } = await post(port, path, EVENT, 'application/json', sign(EVENT));
    const wrong = await post(port, path, `${EVENT} `, 'application/json', sign(EVENT));
    expect([status, wrong.status]).toEqual([200, 401]);
    expect(logger.text).toContain('no signature matches any of the secrets');
    expect(logger.text).not.toContain(SECRETS[preset]);
    expect(logger.text).not.toContain(/[\w+/=]{43,}$/.exec(sign(EVENT)[HEADER[preset]]!)![0]);
  });
});

describe('beside request signatures', () => {
  const secret = 'correct horse battery staple 0123456789';
  const options = (extra: CreateServerOptions['security'] = {}): CreateServerOptions => ({ security: { requestSignature: { secret }, webhooks: hooks(), ...extra } });

  test('each path asks for its own signature alone', async () => {
    const port = await serve(options());
    const own = (url: string): Record<string, string> => signRequest({ secret, method: 'POST', url, body: EVENT, timestamp: NOW });
    for (const preset of PRESETS) {
      const path = `/hooks/${preset}`;
      expect((await post(port, path, EVENT, 'application/json', SIGN[preset](EVENT))).status).toBe(200);
      expect((await post(port, path, EVENT, 'application/json', own(path))).status).toBe(401);
    }
    expect((await post(port, '/orders', EVENT, 'application/json', own('/orders'))).status).toBe(200);
    for (const preset of PRESETS) expect((await post(port, '/orders', EVENT, 'application/json', SIGN[preset](EVENT))).status).toBe(401);
    expect((await post(port, '/hooks', EVENT)).status).toBe(401);
  });

  test('a rewrite does not lead around the check', async () => {
    const port = await serve({}, (app) => {
      app.use((req, _res, next) => {
        req.url = req.url.replace('/alias', '/hooks/github');
        next();
      });
      app.post('/hooks/github', echo);
    });
    expect((await post(port, '/alias', EVENT)).status).toBe(401);
    expect((await post(port, '/alias', EVENT, 'application/json', SIGN.github(EVENT))).status).toBe(200);
    expect(handled).toBe(1);
  });
});

describe('a mistake in security.webhooks', () => {
  const valid = { path: '/hook', preset: 'standard', secret: SECRETS.standard };
  test.each<[string, unknown, RegExp]>([
    ['a secret that is none for Standard Webhooks', { ...valid, secret: 'whsec_not base64' }, /security\.webhooks.*secret.*"\/hook".*preset "standard"/],
    ['another preset', { ...valid, preset: 'paypal' }, /security\.webhooks\[0\]\.preset/],
    ['no secret', { ...valid, secret: undefined }, /security\.webhooks\[0\]\.secret/],
    ['an empty list of secrets', { ...valid, secret: [] }, /security\.webhooks\[0\]\.secret/],
    ['no path', { ...valid, path: undefined }, /security\.webhooks\[0\]\.path/],
    ['an age where no time is signed', { ...valid, preset: 'github', maxAge: 1000 }, /security\.webhooks\[0\]\.maxAge/],
    ['a misspelt key', { ...valid, secrets: ['x'] }, /security\.webhooks\[0\]\.secrets/],
  ])('throws at once: %s', (_name, entry, message) => {
    expect(() => createServer({ logging: { level: 'silent' }, security: { webhooks: [entry as WebhookConfig] } })).toThrow(message);
  });
});

test("the services' own libraries get through", async () => {
  const port = await serve();
  const signature = new Webhook(SECRETS.standard).sign('msg_9', new Date(NOW), EVENT);
  expect((await post(port, '/hooks/standard', EVENT, 'application/json', { 'webhook-id': 'msg_9', 'webhook-timestamp': String(NOW / 1000), 'webhook-signature': signature })).status).toBe(200);
  const header = Stripe.webhooks.generateTestHeaderString({ payload: EVENT, secret: SECRETS.stripe, timestamp: NOW / 1000 });
  expect((await post(port, '/hooks/stripe', EVENT, 'application/json', { 'Stripe-Signature': header })).status).toBe(200);
});

test('demo/webhooks.mjs takes what the four services send, and nothing else', async () => {
  jest.restoreAllMocks();
  const program = await ChildProgram.serve('demo/webhooks.mjs');
  const secret = readFileSync(join(ROOT, 'demo/secret.txt'), 'utf8').trim();
  const seconds = Math.floor(Date.now() / 1000);
  const secrets = { standard: `whsec_${Buffer.from(secret).toString('base64')}`, stripe: `whsec_${secret}`, github: secret, slack: secret };
  for (const preset of PRESETS) {
    const body = preset === 'slack' ? 'command=%2Fhello&text=you' : EVENT;
    const type = preset === 'slack' ? 'application/x-www-form-urlencoded' : 'application/json';
    const headers = SIGN[preset](body, secrets[preset], seconds);
    const answer = await post(program.port, `/hooks/${preset}`, body, type, headers);
    expect([preset, answer.status]).toEqual([preset, 200]);
    if (preset === 'slack') expect(answer.json).toEqual({ text: 'You said: you' });
    expect((await post(program.port, `/hooks/${preset}`, `${body}&`, type, headers)).status).toBe(401);
    expect((await post(program.port, `/hooks/${preset}`, body, type)).status).toBe(401);
  }
  // The lines that its first comment shows.
  const shown = readFileSync(join(ROOT, 'demo/webhooks.mjs'), 'utf8').match(/(?<=^\/\/ {3})(?:body|digest)=.*$/gm)!;
  const script = [...shown, 'printf "%s %s" "$digest" "$body"'].join('\n');
  const [digest, body] = execFileSync('sh', ['-c', script], { cwd: ROOT, encoding: 'utf8' }).split(' ') as [string, string];
  expect((await post(program.port, '/hooks/github', body, 'application/json', { 'X-Hub-Signature-256': `sha256=${digest}` })).status).toBe(200);
  expect((await program.stop()).output.match(/order\.paid/g)).toHaveLength(4);
});
