import { bodyKind } from '../lib/http/body/body';
import { callbackName } from '../lib/http/jsonp';
import { parseQuery } from '../lib/http/query';
import { parseContentDigest } from '../lib/signature/v2/content-digest';
import { canonicalDictionary } from '../lib/signature/v2/dictionary';
import { MessageSignatureScheme } from '../lib/signature/v2/message-signature';
import type { ReceivedRequest } from '../lib/signature/scheme';
import { checkHeaders } from '../lib/signature/v1/grammar';
import { WEBHOOK_FORMATS } from '../lib/signature/webhook/webhook-format';
import { guardedPart, pathOf, queryOf } from '../lib/target/target';
import { refusalOf } from './support/verdict';
import { growth, workOf } from './support/work-meter';

/** Texts of a length, each of another kind of trouble. */
const troubles: Readonly<Record<string, (length: number) => string>> = {
  'many names': (length) => Array.from({ length: length / 5 }, (_, index) => index.toString(36).padStart(4, 'a')).join(','),
  'many pairs': (length) => Array.from({ length: length / 7 }, (_, index) => `${index.toString(36).padStart(4, 'a')}=1`).join('&'),
  'one name': (length) => 'a&'.repeat(length / 2),
  'parameters': (length) => `text/plain${';a=b'.repeat(length / 4)}`,
  'spaces': (length) => `text/plain${' '.repeat(length)}x`,
  'a string': (length) => `a="${'\\"'.repeat(length / 2)}`,
  'bytes': (length) => `a=:${'A'.repeat(length)}:`,
  'an inner list': (length) => `a=(${'"b" '.repeat(length / 4)})`,
  'list entries': (length) => `v1,a${' v1,a'.repeat(length / 5)}`,
  'times': (length) => `t=1${',t=1'.repeat(length / 4)}`,
  'malformed escapes': (length) => `/?a=${'%'.repeat(length)}`,
  'marks': (length) => `/${'?#'.repeat(length / 2)}`,
};

const VERIFY = { algorithm: 'sha256', maxAge: 1, clockSkew: 1, headerName: 'a', timestampHeaderName: 'b', includeBody: true, includeQuery: true, ambiguousBody: 'accept' } as const;

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'a query': (text) => parseQuery(text),
  'a media type': bodyKind,
  'the name of a callback': (text) => callbackName({ query: { callback: text } } as never, 'callback'),
  'a dictionary': canonicalDictionary,
  'a digest': parseContentDigest,
  'a target': (text) => [pathOf(text), queryOf(text), guardedPart(text)],
  'a target that is signed': (text) => checkHeaders({ method: 'GET', target: text, signature: 'a'.repeat(64), timestamp: '1'.repeat(13) }, VERIFY, 0),
  'a webhook of Standard Webhooks': (text) => WEBHOOK_FORMATS.standard.read(text, { headers: { 'webhook-id': 'a', 'webhook-timestamp': '1234567890' }, urls: [] }),
  'a webhook of Stripe': (text) => WEBHOOK_FORMATS.stripe.read(text, { headers: {}, urls: [] }),
  'a webhook of Paddle': (text) => WEBHOOK_FORMATS.paddle.read(text, { headers: {}, urls: [] }),
  'a form of Twilio': (text) => WEBHOOK_FORMATS.twilio.content?.(Buffer.from(text), { headers: { 'content-type': 'application/x-www-form-urlencoded' }, urls: ['https://a/'] }),
};

describe.each(Object.entries(readers))('%s', (_, read) => {
  test.each(Object.entries(troubles))('is read by work that grows with its length: %s', (__, make) => {
    expect(growth(make, read)).toBeLessThan(40);
  });
});

describe('a signed message', () => {
  /** A request that covers so many fields, of as many lines. */
  function message(fields: number, target = '/'): ReceivedRequest {
    const names = Array.from({ length: fields }, (_, index) => `x${index.toString(36)}`);
    const input = `a=("@method" "@path" "@query" ${names.map((name) => `"${name}"`).join(' ')});created=1;nonce="0123456789abcdef"`;
    expect(input.length).toBeLessThan(4096);
    return {
      method: 'GET', target,
      headers: { 'signature': `a=:${Buffer.alloc(32).toString('base64')}:`, 'signature-input': input, ...Object.fromEntries(names.map((name) => [name, ''])) },
      rawHeaders: names.flatMap((name) => [name, '']),
    };
  }

  test('is read by work that grows with the fields that it covers and the lines that there are, not with their product', () => {
    const scheme = new MessageSignatureScheme({ secret: ['x'.repeat(32)], maxAge: 60_000, clockSkew: 0, includeBody: true, includeQuery: true, covers: [] });
    const work = (fields: number, target?: string): number => {
      const request = message(fields, target);
      expect(refusalOf(scheme, request, 1500)).toBeNull();
      return workOf(() => refusalOf(scheme, request, 1500));
    };
    expect(work(512) / work(32)).toBeLessThan(40);
    // Nor is the target looked through for each of them.
    expect(work(512, `/${'a'.repeat(8000)}`) - work(512)).toBeLessThan(80_000);
  });
});
