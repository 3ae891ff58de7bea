import express from 'express';
import fc from 'fast-check';
import http from 'node:http';
import { resolveOptions } from '../lib/options/resolve';
import type { CreateServerOptions } from '../lib/options/options';
import type { ResolvedOptions } from '../lib/options/resolved';
import { runs } from './support/runs';

const SECRET = 'a secret of more than thirty-two bytes';
const PEM = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';
const quiet = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {} };

const resolve = (given?: unknown, environment = {}): ResolvedOptions => resolveOptions(given, environment);
const typed = (given: CreateServerOptions): ResolvedOptions => resolve(given);
const signed = (settings: object): object => ({ security: { requestSignature: { secret: SECRET, ...settings } } });
const scoped = (routes: unknown): object => ({ security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: routes } } });

/** An object that holds the value at a dotted path. */
function at(path: string, value: unknown): Record<string, unknown> {
  const [head = '', ...rest] = path.split('.');
  return { [head]: rest.length === 0 ? value : at(rest.join('.'), value) };
}

function messageOf(given: unknown, environment = {}): string {
  try {
    resolve(given, environment);
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return (error as TypeError).message;
  }
  throw new Error('nothing was thrown');
}

describe('defaults', () => {
  test('of every option', () => {
    expect(resolve()).toEqual({
      env: 'production',
      hints: true,
      etag: false,
      logging: { level: 'info', logger: undefined, requestId: false, requests: 'debug', slowAfter: undefined },
      routing: { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false, methodNotAllowed: false },
      body: { parse: true, limit: 1_048_576, bigint: false },
      server: {
        host: undefined, port: 3000, pipelining: 8, writeTimeout: 60_000, handlerTimeout: 0, handleSignals: false, trustProxy: false, trustsByDefault: true, trusts: expect.any(Function) as unknown, https: undefined, http2: false, http: {}, properties: {},
      },
      security: { requestSignature: undefined, includeRoutes: [], excludeRoutes: [], webhooks: [], signResponses: undefined },
      warnings: [],
    });
  });

  test('of a request signature', () => {
    expect(typed({ security: { requestSignature: { secret: SECRET } } }).security).toEqual({
      requestSignature: {
        secret: [SECRET], keys: undefined, nonce: 'required', tag: undefined, label: undefined, webBotAuth: undefined, keyIdHeaderName: 'X-Key-Id', version: 1, replay: undefined, debug: false, algorithm: 'sha256', maxAge: 300_000,
        clockSkew: 30_000, headerName: 'Svc-Request-Sig', timestampHeaderName: 'X-Timestamp', includeBody: true, includeQuery: true, prefix: '', ambiguousBody: 'accept', covers: [],
        timeout: 5000,
      },
      includeRoutes: [],
      excludeRoutes: [],
      webhooks: [],
      signResponses: undefined,
    });
  });

  test.each([[undefined], [{}], [Object.create(null)], [{ server: undefined, security: undefined, body: undefined, logging: {} }]])('stand for %j', (given) => {
    expect(JSON.stringify(resolve(given))).toBe(JSON.stringify(resolve()));
  });

  test.each([
    [{}, {}, 'production', true],
    [{}, { NODE_ENV: '' }, 'production', true],
    [{}, { NODE_ENV: 'staging' }, 'staging', false],
    [{ env: 'production' }, {}, 'production', false],
    [{ env: 'development' }, { NODE_ENV: 'staging' }, 'development', true],
  ])('env of %j in %j is %s, and hints are logged: %s', (given, environment, env, hints) => {
    expect(resolve(given, environment)).toMatchObject({ env, hints });
  });

  test.each([
    [{}, { PORT: '' }, 3000],
    [{}, { PORT: '8080' }, 8080],
    [{}, { PORT: '0' }, 0],
    [{ server: { port: 0 } }, { PORT: '8080' }, 0],
    [{ server: { port: 65_535 } }, { PORT: 'pipe' }, 65_535],
  ])('port of %j in %j is %i', (given, environment, expected) => {
    expect(resolve(given, environment).server.port).toBe(expected);
  });

  test.each(['abc', '65536', '-1', '80.5', ' 80', '1e3', '0x50'])('PORT=%j is refused by name', (port) => {
    expect(messageOf({}, { PORT: port })).toBe(`the environment variable PORT must be an integer from 0 to 65535, got ${JSON.stringify(port)}`);
  });
});

describe('a wrong value', () => {
  const wrong: [string, unknown, string][] = [
    ['env', '', 'a non-empty string, got an empty string'],
    ['env', 1, 'a non-empty string, got 1'],
    ['etag', 'strongest', 'one of true, false, "weak", "strong", got "strongest"'],
    ['logging', 'debug', 'an object, got a string'],
    ['logging.level', 'verbose', 'one of "trace", "debug", "info", "warn", "error", "fatal", "silent", got "verbose"'],
    ['logging.level', null, 'one of "trace", "debug", "info", "warn", "error", "fatal", "silent", got null'],
    ['logging.logger', {}, 'must have the methods'],
    ['logging.requestId', 1, 'an object, got a number'],
    ['logging.requestId', 'X Request Id', 'the name of a header, or false, got "X Request Id"'],
    ['logging.requestId', '', 'the name of a header, or false, got an empty string'],
    ['logging.requestId.header', true, 'the name of a header, or false, got true'],
    ['logging.requestId.generate', 'uuid', 'a function, got "uuid"'],
    ['logging.requests', 'silent', 'one of true, false, "trace", "debug", "info", "warn", "error", "fatal", got "silent"'],
    ['logging.requests', null, 'one of true, false, "trace", "debug", "info", "warn", "error", "fatal", got null'],
    ['routing', [], 'an object, got an array'],
    ['routing.caseSensitive', 'yes', 'a boolean, got "yes"'],
    ['routing.ignoreTrailingSlash', 1, 'a boolean, got 1'],
    ['routing.ignoreDuplicateSlashes', 0, 'a boolean, got 0'],
    ['routing.methodNotAllowed', null, 'a boolean, got null'],
    ['body', true, 'an object or false, got true'],
    ['body', null, 'an object, got null'],
    ['body.bigint', 1n, 'a boolean, got 1n'],
    ['body.containerLimit', -1, 'an integer from 0 to 2147483647, got -1'],
    ['server.port', 65_536, 'an integer from 0 to 65535, got 65536'],
    ['server.port', -1, 'an integer from 0 to 65535, got -1'],
    ['server.port', '3000', 'an integer from 0 to 65535, got "3000"'],
    ['server.port', NaN, 'an integer from 0 to 65535, got NaN'],
    ['server.host', '', 'a non-empty string, got an empty string'],
    ['server.pipelining', 0, 'an integer from 1 to 2147483647, got 0'],
    ['server.writeTimeout', -1, 'an integer of milliseconds from 0 to 2147483647, got -1'],
    ['server.handleSignals', 'SIGTERM', 'a boolean, got "SIGTERM"'],
    ['server.trustProxy', -1, 'a boolean, a number of hops'],
    ['server.trustProxy', 'somewhere', 'a boolean, a number of hops'],
    ['server.trustProxy', '', 'a boolean, a number of hops'],
    ['server.trustProxy', ['10.0.0.0/99'], 'a boolean, a number of hops'],
    ['server.requestTimeout', Infinity, 'an integer of milliseconds from 0 to 2147483647, got Infinity'],
    ['server.keepAliveTimeout', 2 ** 31, 'an integer of milliseconds from 0 to 2147483647, got 2147483648'],
    ['server.headersTimeout', 300_001, 'at most server.requestTimeout (300000), got 300001'],
    ['server.maxHeadersCount', 1.5, 'an integer from 0 to 2147483647, got 1.5'],
    ['server.uniqueHeaders', ['a b'], 'an array of header names'],
    ['server.https', true, 'an object, got a boolean'],
    ['server.https', {}, 'must hold key and cert'],
    ['server.https', { key: PEM }, 'must hold key and cert'],
    ['server.https.key', './key.pem', "the contents of a PEM file (as readFileSync gives them, not the file's path), got a string"],
    ['server.https.minVersion', 'TLS1.2', 'one of "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3", got "TLS1.2"'],
    ['server.https.ticketKeys', Buffer.alloc(47), '48 bytes, got an object'],
    ['security', [], 'an object, got an array'],
    ['security.requestSignature', SECRET, 'an object, got a string'],
    ['security.requestSignature', false, 'an object, got a boolean'],
    ['security.requestSignature', new (class Config { secret = SECRET; })(), 'a plain object, got an instance of a class'],
    ['security.routeConfig', null, 'an object, got null'],
  ];

  test.each(wrong)('%s: %p is refused', (path, value, expected) => {
    const message = messageOf(at(path, value));
    expect(message.startsWith(path)).toBe(true);
    expect(message).toContain(expected);
  });

  const inSignature: [string, unknown, string][] = [
    ['algorithm', 'md5', 'one of "sha256", "sha512", got "md5"'],
    ['algorithm', 'SHA256', 'one of "sha256", "sha512", got "SHA256"'],
    ['maxAge', 0, 'a positive number of milliseconds, got 0'],
    ['maxAge', NaN, 'a positive number of milliseconds, got NaN'],
    ['maxAge', Infinity, 'a positive number of milliseconds, got Infinity'],
    ['maxAge', '300000', 'a positive number of milliseconds, got "300000"'],
    ['clockSkew', -1, 'a number of milliseconds, 0 or more, got -1'],
    ['clockSkew', Infinity, 'a number of milliseconds, 0 or more, got Infinity'],
    ['headerName', '', 'a header name (RFC 9110 section 5.1) that nothing else uses, got an empty string'],
    ['headerName', 'X Sig', 'a header name (RFC 9110 section 5.1) that nothing else uses, got "X Sig"'],
    ['timestampHeaderName', 'X-Time\r\n', 'a header name (RFC 9110 section 5.1) that nothing else uses, got "X-Time\\r\\n"'],
    ['timestampHeaderName', 'svc-request-sig', 'another header than security.requestSignature.headerName, got "svc-request-sig"'],
    ['includeBody', 'no', 'a boolean, got "no"'],
    ['includeQuery', 0, 'a boolean, got 0'],
    ['debug', 'on', 'a boolean, got "on"'],
    ['ambiguousBody', 'drop', 'one of "accept", "reject", got "drop"'],
    ['headerName', 'AUTHORIZATION', 'a header name (RFC 9110 section 5.1) that nothing else uses, got "AUTHORIZATION"'],
    ['timeout', 0, 'an integer of milliseconds from 1 to 2147483647, got 0'],
    ['timeout', 2 ** 31, 'an integer of milliseconds from 1 to 2147483647, got 2147483648'],
    ['timeout', Infinity, 'an integer of milliseconds from 1 to 2147483647, got Infinity'],
    ...['api', '/', '/api/', '/api?', '/a#b', '/a b', '/ä', '', 5].map((value): [string, unknown, string] => (
      ['prefix', value, `a path of visible ASCII that begins with "/" and has no "/" at its end, no "?" and no "#", such as "/api", got ${value === '' ? 'an empty string' : JSON.stringify(value)}`]
    )),
    ['covers', ['X-A'], 'left out with version: 1, which signs no headers; write version: 2, got an array'],
  ];

  test.each(inSignature)('security.requestSignature.%s: %p is refused', (key, value, expected) => {
    expect(messageOf(signed({ [key]: value }))).toBe(`security.requestSignature.${key} must be ${expected}`);
  });

  test.each([[null], ['x'], [1], [[]], [() => undefined], [new Map()], [Object.create({ env: 'x' })]])('%p is no options object', (given) => {
    expect(messageOf(given)).toMatch(/^the options of createServer must be a(n| plain) object, got /);
  });

  test('that is long is told by its beginning', () => {
    expect(messageOf({ etag: 'x'.repeat(1000) })).toMatch(/, got "x{60}…"$/);
  });

  test('is the only reason to throw, whatever is given where', () => {
    const paths = ['env', 'etag', 'logging', 'logging.level', 'logging.logger', 'routing', 'routing.caseSensitive', 'body', 'body.limit', 'server', 'server.port',
      'server.trustProxy', 'server.https', 'server.https.key', 'server.https.ca', 'server.uniqueHeaders', 'server.timeout', 'security', 'security.requestSignature',
      'security.requestSignature.secret', 'security.routeConfig', 'security.routeConfig.requestSignature', 'security.routeConfig.requestSignature.includeRoutes'];
    fc.assert(fc.property(fc.constantFrom(...paths), fc.anything({ withNullPrototype: true, withSparseArray: true, withBigInt: true, withTypedArray: true }), (path, value) => {
      try {
        resolve(at(path, value));
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        expect((error as TypeError).message).toMatch(/^(unknown option "|the options|env|etag|logging|routing|body|server|security)/);
      }
    }), { numRuns: runs(500) });
  });

  test('is not excused by a polluted Object.prototype, nor are options taken from it', () => {
    const prototype = Object.prototype as Record<string, unknown>;
    prototype['port'] = 1;
    prototype['requestSignature'] = { secret: SECRET };
    try {
      expect(resolve({ server: {}, security: {} })).toMatchObject({ server: { port: 3000 }, security: { requestSignature: undefined } });
    } finally {
      delete prototype['port'];
      delete prototype['requestSignature'];
    }
  });
});

describe('version 2 of the signature', () => {
  test.each(['headerName', 'timestampHeaderName', 'ambiguousBody'] as const)('leaves %s to RFC 9421', (key) => {
    const value = key === 'ambiguousBody' ? 'reject' : 'X-Own';
    expect(messageOf(signed({ secret: SECRET, version: 2, [key]: value }))).toBe(
      `security.requestSignature.${key} must be left out with version: 2, where RFC 9421 settles it, got ${JSON.stringify(value)}`,
    );
  });

  test('has no HMAC but that of sha256', () => {
    expect(messageOf(signed({ secret: SECRET, version: 2, algorithm: 'sha512' }))).toMatch(/algorithm must be "sha256" with version: 2/);
    expect(resolve(signed({ secret: SECRET, version: 2 })).security.requestSignature?.version).toBe(2);
  });

  test.each(['@method', '@path', '@query', '@status', 'a b', '', 'Content-Digest', 'signature', 'Signature-Input', 5, null])('can\'t be asked to cover %p', (name) => {
    expect(messageOf(signed({ version: 2, covers: ['X-A', name] }))).toMatch(
      /^security\.requestSignature\.covers\[1\] must be the name of a header other than Content-Digest, Signature and Signature-Input, or "@authority", "@scheme", "@target-uri", "@request-target" or "@query-param;name=…", got /,
    );
  });

  test('covers what it is asked to, by names in lower case', () => {
    expect(resolve(signed({ version: 2, covers: ['@authority', '@request-target', 'X-Tenant'] })).security.requestSignature?.covers).toEqual(['@authority', '@request-target', 'x-tenant']);
    expect(messageOf(signed({ version: 2, covers: '@authority' }))).toMatch(/covers must be an array of what must be signed, such as \["@authority"\], got a string/);
  });

  test.each([0, 3, '2', null])('is not %p', (version) => {
    expect(messageOf(signed({ secret: SECRET, version }))).toMatch(/^security\.requestSignature\.version must be one of 1, 2, got /);
  });
});

describe('a header that proxies change', () => {
  const warningsOf = (changes: object): readonly string[] => resolve(signed({ secret: SECRET, ...changes })).warnings;

  test.each([
    ['headerName', { headerName: 'X_Sig' }, '"X_Sig"'],
    ['timestampHeaderName', { timestampHeaderName: 'x_time' }, '"x_time"'],
    ['keyIdHeaderName', { secret: () => SECRET, keyIdHeaderName: 'Key_Id' }, '"Key_Id"'],
    ['covers[1]', { version: 2, covers: ['x-a', 'X_B;sf'] }, '"x_b;sf"'],
  ])('is warned of where nginx drops it: %s', (name, changes, shown) => {
    expect(warningsOf(changes)).toEqual([`security.requestSignature.${name} is ${shown}, and nginx drops a header with "_" in its name, unless underscores_in_headers is on; write "-"`]);
  });

  test('is warned of where it is written anew', () => {
    expect(warningsOf({ version: 2, covers: ['X-Forwarded-Proto'] })).toEqual(['security.requestSignature.covers[0] is "x-forwarded-proto", which proxies write anew: behind one the signature would not match']);
  });

  test('is no other', () => {
    expect(warningsOf({ headerName: 'X-Sig', timestampHeaderName: 'X-Time' })).toEqual([]);
    expect(warningsOf({ version: 2, covers: ['@query-param;name="a_b"', 'x-a;key="a_b"', '@authority', 'forwarded', 'x-tenant'] })).toEqual([]);
  });
});

describe('a secret for each key', () => {
  const secret = (): string => SECRET;

  test('may be named by a header of one\'s own', () => {
    expect(resolve(signed({ secret, keyIdHeaderName: 'X-Client' })).security.requestSignature).toMatchObject({ secret, keyIdHeaderName: 'X-Client' });
  });

  test('has no header where all share one secret', () => {
    expect(messageOf(signed({ secret: SECRET, keyIdHeaderName: 'X-Client' }))).toMatch(/keyIdHeaderName must be left out unless secret is a function/);
  });

  test.each(['svc-request-sig', 'X-TIMESTAMP'])('is not named by the header %s', (keyIdHeaderName) => {
    expect(messageOf(signed({ secret, keyIdHeaderName }))).toMatch(/keyIdHeaderName must be another header than/);
  });
});

describe('the store of used signatures', () => {
  test.each([[undefined], [null], [{}], [{ claim: true }], ['memory']])('%p is none', (store) => {
    expect(messageOf(signed({ secret: SECRET, replay: { store } }))).toMatch(/^security\.requestSignature\.replay\.store must be an object with a method claim/);
  });

  test('is taken as it is', () => {
    const store = { claim: () => true };
    expect(resolve(signed({ secret: SECRET, replay: { store } })).security.requestSignature?.replay?.store).toBe(store);
  });
});

describe('webhooks', () => {
  const webhook = (given: object): unknown => ({ security: { webhooks: [{ path: '/hooks', preset: 'stripe', secret: SECRET, ...given }] } });

  test('have their defaults filled in', () => {
    expect(resolve(webhook({})).security.webhooks).toEqual([
      { path: '/hooks', preset: 'stripe', secrets: [SECRET], maxAge: 300_000, clockSkew: 300_000, debug: false, limit: undefined, replay: undefined, timeout: 5000 },
    ]);
  });

  test.each([
    [{ path: 'hooks' }, /webhooks\[0\]\.path must be a route pattern/],
    [{ preset: 'paypal' }, /webhooks\[0\]\.preset must be one of "standard", "svix", "stripe", "github", "slack", "zoom", "paddle", "discord", "shopify", "square", "twilio", got "paypal"/],
    [{ secret: '' }, /webhooks\[0\]\.secret must be a non-empty string/],
    [{ secrets: 'x' }, /did you mean "security\.webhooks\[0\]\.secret"/],
    [{ preset: 'github', maxAge: 5 }, /maxAge must be left out with preset "github", which signs no time/],
    [{ preset: 'github', replay: { store: { claim: () => true } } }, /replay must be left out with preset "github", which signs no time, so that a store would have no end/],
    [{ replay: { store: {} } }, /webhooks\[0\]\.replay\.store must be an object with a method claim/],
    [{ limit: '25 megs' }, /webhooks\[0\]\.limit must be a number of bytes or text such as '100kb' or '1mb', got "25 megs"/],
    [{ timeout: 0 }, /webhooks\[0\]\.timeout must be an integer of milliseconds from 1 to 2147483647, got 0/],
    [{ maxAge: 0 }, /maxAge must be a positive number of milliseconds/],
  ])('%j is refused', (given, message) => {
    expect(messageOf(webhook(given))).toMatch(message);
  });
});

describe('the secret', () => {
  test.each([[undefined, 'undefined'], [null, 'null'], ['', 'an empty string'], ['\0\0', 'nothing but NUL characters'], [7, 'a number'], [Buffer.from(SECRET), 'an object']])('%p is refused', (secret, got) => {
    expect(messageOf(signed({ secret }))).toBe(`security.requestSignature.secret must be a non-empty string, got ${got}`);
  });

  test('may be an array, for rotation', () => {
    expect(resolve(signed({ secret: [SECRET, `${SECRET}2`] })).security.requestSignature?.secret).toEqual([SECRET, `${SECRET}2`]);
  });

  test.each([[[]], [['']], [[SECRET, '']], [[SECRET, undefined]], [[SECRET, [SECRET]]], [new Array<string>(2)]])('%p is no rotation', (secret) => {
    expect(messageOf(signed({ secret }))).toMatch(/^security\.requestSignature\.secret(\[\d\])? must be a non-empty string/);
  });

  test('under 32 bytes of UTF-8 is warned of', () => {
    const warned = (secret: unknown): readonly string[] => resolve(signed({ secret })).warnings;
    expect(warned('x'.repeat(31))).toEqual(['security.requestSignature.secret is shorter than 32 bytes']);
    expect(warned('x'.repeat(32))).toEqual([]);
    expect(warned('é'.repeat(16))).toEqual([]);
    expect(warned([SECRET, 'short'])).toEqual(['security.requestSignature.secret[1] is shorter than 32 bytes']);
  });

  test('stands in no message, whatever is wrong with it or beside it', () => {
    const secret = fc.stringMatching(/^[A-Z]{6}[0-9]{6}[A-Z]{0,30}$/);
    const shape = (value: string): fc.Arbitrary<unknown> => fc.constantFrom<unknown>(value, [value], [value, ''], { value }, Buffer.from(value), [[value]], () => value);
    const faults = fc.constantFrom<object>({}, { maxAge: -1 }, { headerName: 'a b' }, { algorithm: 'md5' }, { secrt: 1 }, { unheardOf: 1 });
    fc.assert(fc.property(secret.chain((value) => fc.tuple(fc.constant(value), shape(value))), faults, fc.boolean(), ([value, given], fault, bare) => {
      const said: string[] = [];
      try {
        said.push(...resolve(bare ? { security: { requestSignature: given } } : signed({ secret: given, ...fault })).warnings);
      } catch (error) {
        said.push((error as Error).message);
      }
      expect(said.join('\n')).not.toContain(value);
    }), { numRuns: 500 });
  });

  test.each(['key', 'cert', 'passphrase', 'pfx', 'ca'])('and server.https.%s is told by its kind alone', (name) => {
    for (const given of ['TOPSECRET', ['TOPSECRET'], { pem: 'TOPSECRET' }, 5]) {
      const accepted = { key: PEM, cert: PEM };
      try {
        resolve({ server: { https: { ...accepted, [name]: given } } });
      } catch (error) {
        expect((error as Error).message).not.toContain('TOPSECRET');
      }
    }
  });
});

describe('the scope of the signature check', () => {
  test('takes patterns, and patterns with methods, which are upper-cased', () => {
    expect(resolve(scoped({ includeRoutes: ['/api/**', { path: '/x' }], excludeRoutes: [{ path: '/**', methods: ['options'] }] })).security).toMatchObject({
      includeRoutes: ['/api/**', { path: '/x' }],
      excludeRoutes: [{ path: '/**', methods: ['OPTIONS'] }],
    });
  });

  test.each<[unknown, string]>([
    ['/api', 'includeRoutes must be an array of route patterns, got a string'],
    [['api/**'], 'includeRoutes[0] must be a route pattern that starts with "/", got "api/**"'],
    [['/a', /b/], 'includeRoutes[1] must be a plain object, got an instance of a class'],
    [[, '/a'], 'includeRoutes[0] must be a route pattern'],
    [[{ methods: ['GET'] }], 'includeRoutes[0].path must be a route pattern'],
    [[{ path: '/a', methods: 'GET' }], 'includeRoutes[0].methods must be an array of HTTP methods, got a string'],
    [[{ path: '/a', methods: [] }], 'includeRoutes[0].methods must be an array of one or more HTTP methods'],
    [[{ path: '/a', methods: ['PSOT'] }], 'includeRoutes[0].methods[0] must be an HTTP method such as "GET", got "PSOT"'],
  ])('%j is refused', (includeRoutes, expected) => {
    expect(messageOf(scoped({ includeRoutes }))).toContain(`security.routeConfig.requestSignature.${expected}`);
  });

  test('without a secret is a guard that is never on, and refused', () => {
    expect(messageOf({ security: { routeConfig: { requestSignature: { includeRoutes: ['/a'] } } } })).toContain('needs security.requestSignature');
    expect(resolve({ security: { routeConfig: {} } }).security.requestSignature).toBeUndefined();
  });
});

describe('an unknown key', () => {
  test.each<[object, string]>([
    [{ loging: {} }, 'unknown option "loging"; did you mean "logging"?'],
    [{ Server: {} }, 'unknown option "Server"; did you mean "server"?'],
    [{ server: { prot: 1 } }, 'unknown option "server.prot"; did you mean "server.port"?'],
    [{ body: { limits: 1 } }, 'unknown option "body.limits"; did you mean "body.limit"?'],
    [{ server: { connectionsCheckInterval: 1 } }, 'unknown option "server.connectionsCheckInterval"; did you mean "server.connectionsCheckingInterval"?'],
    [{ server: { https: { key: PEM, cert: PEM, chiphers: '' } } }, 'unknown option "server.https.chiphers"; did you mean "server.https.ciphers"?'],
  ])('%j is warned of with the nearest known one', (given, expected) => {
    expect(resolve(given).warnings).toEqual([expected]);
  });

  test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])('named as a member of Object.prototype (%s) is as unknown as any', (key) => {
    const given: unknown = JSON.parse(`{"${key}": {"x": 1}, "routing": {"${key}": 1}}`);
    expect(resolve(given).warnings).toHaveLength(2);
  });

  const levels: [string, string[], (keys: object) => object][] = [
    ['security', ['requestSignature', 'routeConfig'], (keys) => ({ security: { requestSignature: { secret: SECRET }, ...keys } })],
    ['security.requestSignature', ['secret', 'debug', 'algorithm', 'maxAge', 'headerName', 'timestampHeaderName', 'includeBody', 'includeQuery', 'clockSkew', 'ambiguousBody'], signed],
    ['security.routeConfig', ['requestSignature'], (keys) => ({ security: { requestSignature: { secret: SECRET }, routeConfig: keys } })],
    ['security.routeConfig.requestSignature', ['includeRoutes', 'excludeRoutes'], scoped],
    ['security.routeConfig.requestSignature.includeRoutes[0]', ['path', 'methods'], (keys) => scoped({ includeRoutes: [{ path: '/a', ...keys }] })],
  ];

  test.each(levels)('within two edits of a known one throws under %s', (path, known, build) => {
    const letter = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-');
    const edit = fc.record({ kind: fc.constantFrom('insert', 'delete', 'replace'), place: fc.nat(30), letter });
    fc.assert(fc.property(fc.constantFrom(...known), fc.array(edit, { minLength: 1, maxLength: 2 }), fc.boolean(), (name, edits, upper) => {
      const misspelt = edits.reduce((word, { kind, place, letter: added }) => {
        const index = place % (word.length + 1);
        return word.slice(0, index) + (kind === 'delete' ? '' : added) + word.slice(kind === 'insert' ? index : index + 1);
      }, name);
      const key = upper ? misspelt.toUpperCase() : misspelt;
      fc.pre(!known.includes(key));
      const message = messageOf(build({ [key]: 'x' }));
      expect(message.startsWith(`unknown option ${JSON.stringify(`${path}.${key}`)}; did you mean "${path}.`)).toBe(true);
    }), { numRuns: 300 });
  });

  test.each([
    [{ security: { signature: { secret: SECRET } } }, 'security.signature', 'security.requestSignature'],
    [{ security: { requestSig: { secret: SECRET } } }, 'security.requestSig', 'security.requestSignature'],
    [{ security: { stripeWebhooks: [] } }, 'security.stripeWebhooks', 'security.webhooks'],
    [signed({ covered: ['@authority'], coversAlso: [] }), 'security.requestSignature.covered', 'security.requestSignature.covers'],
    [signed({ replayStore: {} }), 'security.requestSignature.replayStore', 'security.requestSignature.replay'],
    [scoped({ include: ['/a'] }), 'security.routeConfig.requestSignature.include', 'security.routeConfig.requestSignature.includeRoutes'],
  ])('that is a guard named by a part of its name throws: %j', (given, key, meant) => {
    expect(messageOf(given)).toBe(`unknown option ${JSON.stringify(key)}; did you mean ${JSON.stringify(meant)}? A misspelt guard does not start`);
  });

  test.each([
    [signed({ version: 2, key: PEM }), 'did you mean "security.requestSignature.keys" or "security.requestSignature.secret"?'],
    [signed({ token: SECRET }), 'did you mean "security.requestSignature.secret"?'],
    [{ security: { webhooks: [{ path: '/hooks', preset: 'stripe', key: SECRET }] } }, 'did you mean "security.webhooks[0].secret"?'],
  ])('that another package has throws: %j', (given, expected) => {
    expect(messageOf(given)).toContain(expected);
  });

  test.each([
    [{ security: { secret: SECRET } }, 'it belongs at "security.requestSignature.secret"'],
    [{ security: { includeRoutes: ['/a'] } }, 'it belongs at "security.routeConfig.requestSignature.includeRoutes"'],
    [signed({ excluderoutes: [] }), 'it belongs at "security.routeConfig.requestSignature.excludeRoutes"'],
  ])('that is a guard out of its place throws: %j', (given, expected) => {
    expect(messageOf(given)).toContain(expected);
  });

  const stray: [object, string, string][] = [
    [{ requestSignature: { secret: SECRET } }, 'requestSignature', 'security.requestSignature'],
    [{ REQUESTSIGNATURE: { secret: SECRET } }, 'REQUESTSIGNATURE', 'security.requestSignature'],
    [{ requestSignatures: { secret: SECRET } }, 'requestSignatures', 'security.requestSignature'],
    [{ routeConfig: {} }, 'routeConfig', 'security.routeConfig'],
    [{ webhooks: [] }, 'webhooks', 'security.webhooks'],
    [{ webhook: [] }, 'webhook', 'security.webhooks'],
    [{ server: { requestSignature: { secret: SECRET } } }, 'server.requestSignature', 'security.requestSignature'],
    [{ server: { security: {} } }, 'server.security', 'security'],
    [{ body: { webhooks: [] } }, 'body.webhooks', 'security.webhooks'],
    [{ routing: { routeConfig: {} } }, 'routing.routeConfig', 'security.routeConfig'],
    [{ logging: { Security: {} } }, 'logging.Security', 'security'],
    [signed({ webhooks: [] }), 'security.requestSignature.webhooks', 'security.webhooks'],
    [signed({ routeConfig: {} }), 'security.requestSignature.routeConfig', 'security.routeConfig'],
    [{ security: { requestSignature: { secret: SECRET }, routeConfig: { webhooks: [] } } }, 'security.routeConfig.webhooks', 'security.webhooks'],
  ];

  test.each(stray)('that is a guard which stands where none starts throws: %j', (given, key, home) => {
    expect(messageOf(given)).toBe(`unknown option ${JSON.stringify(key)}; it belongs at ${JSON.stringify(home)}. A misplaced guard does not start`);
  });

  test('that resembles none under security is only warned of', () => {
    expect(resolve(signed({ tracing: true })).warnings).toHaveLength(1);
  });
});

describe('body', () => {
  test.each<[number | string, number]>([
    [1, 1], [2048, 2048], ['1', 1], ['100kb', 102_400], ['1mb', 1_048_576], ['1.5MB', 1_572_864], ['2 kb', 2048], ['1gb', 2 ** 30], ['10b', 10], ['1.9b', 1],
  ])('limit %p is %i bytes', (limit, expected) => {
    expect(typed({ body: { limit } }).body).toEqual({ parse: true, limit: expected, bigint: false });
  });

  test.each([0, -1, 1.5, NaN, Infinity, null, '', '0', '0.5b', '-1kb', '1tb', '1 k b', '1,5mb', '1e3', 'mb', '1mb ', '9999999999gb', true, [1]])('limit %p is refused', (limit) => {
    expect(messageOf({ body: { limit } })).toMatch(/^body\.limit must be a/);
  });

  test('false turns parsing off and keeps the default limit', () => {
    expect(typed({ body: false }).body).toEqual({ parse: false, limit: 1_048_576, bigint: false });
  });
});

test.each([[false, false], [true, 'weak'], ['weak', 'weak'], ['strong', 'strong']] as const)('etag %p is %p', (etag, expected) => {
  expect(typed({ etag }).etag).toBe(expected);
});

describe('logging', () => {
  test('takes a logger as it is, and says that a level beside it has no effect', () => {
    expect(typed({ logging: { logger: quiet } })).toMatchObject({ warnings: [] });
    const resolved = typed({ logging: { logger: quiet, level: 'debug' } });
    expect(resolved.logging.logger).toBe(quiet);
    expect(Object.isFrozen(quiet)).toBe(false);
    expect(resolved.warnings).toEqual(['logging.level has no effect beside logging.logger, which keeps its own']);
  });
});

describe('server', () => {
  const given = {
    requestTimeout: 9000, headersTimeout: 8000, keepAliveTimeout: 700, connectionsCheckingInterval: 60, maxHeaderSize: 5000, insecureHTTPParser: false,
    joinDuplicateHeaders: true, noDelay: false, keepAlive: true, keepAliveInitialDelay: 40_000, requireHostHeader: false, highWaterMark: 3000, rejectNonStandardBodyWrites: true,
  };

  test('passes on to Node what was given, and what Node takes as properties apart', () => {
    const { http: options, properties } = typed({ server: { ...given, maxHeadersCount: 30, maxRequestsPerSocket: 2, timeout: 10, uniqueHeaders: ['a', 'b'] } }).server;
    expect(options).toStrictEqual({ ...given, uniqueHeaders: ['a', 'b'] });
    expect(properties).toStrictEqual({ maxHeadersCount: 30, maxRequestsPerSocket: 2, timeout: 10 });
    const server = Object.assign(http.createServer(options), properties);
    // Node keeps this one delay in seconds.
    expect(server).toMatchObject({ ...given, keepAliveInitialDelay: 40, maxHeadersCount: 30, maxRequestsPerSocket: 2, timeout: 10 });
  });

  test('takes no limit on the request (0) beside one on its headers', () => {
    expect(typed({ server: { requestTimeout: 0, headersTimeout: 60_000 } }).server.http).toStrictEqual({ requestTimeout: 0, headersTimeout: 60_000 });
    expect(typed({ server: { headersTimeout: 300_000 } }).server.http).toStrictEqual({ headersTimeout: 300_000 });
  });

  test('accepts no number that Node would refuse at start', () => {
    const names = ['requestTimeout', 'headersTimeout', 'keepAliveTimeout', 'connectionsCheckingInterval', 'maxHeaderSize', 'highWaterMark', 'keepAliveInitialDelay'] as const;
    const number = fc.oneof(fc.integer({ min: -2, max: 500_000 }), fc.double(), fc.constantFrom(0, NaN, Infinity, 2 ** 31, 2 ** 53));
    fc.assert(fc.property(fc.dictionary(fc.constantFrom(...names), number, { noNullPrototype: true }), (options) => {
      let resolved: ResolvedOptions;
      try {
        resolved = resolve({ server: options });
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        return;
      }
      expect(() => http.createServer(resolved.server.http)).not.toThrow();
    }), { numRuns: 1000 });
  });

  test.each([[true], [false], [0], [1], [3], ['loopback'], ['loopback, 10.0.0.0/8'], [['uniquelocal', '192.0.2.1']], [[]], ['::1']])('trustProxy %j trusts whom Express trusts', (trustProxy) => {
    const theirs = express().set('trust proxy', trustProxy).get('trust proxy fn') as (address: string, hop: number) => boolean;
    const { server } = typed({ server: { trustProxy } });
    expect(server.trustProxy).toEqual(trustProxy);
    for (const address of ['127.0.0.1', '::1', '10.1.2.3', '192.0.2.1', '192.168.1.1', '8.8.8.8', 'fd00::1']) {
      for (const hop of [0, 1, 2, 3]) expect(server.trusts(address, hop)).toBe(theirs(address, hop));
    }
  });

  test('trustProxy takes a function as it is', () => {
    const trusts = (address: string): boolean => address === '1.2.3.4';
    expect(typed({ server: { trustProxy: trusts } }).server.trusts).toBe(trusts);
  });

  test('https takes contents as text, bytes or lists, and hands on only what was given', () => {
    const bytes = Buffer.from(PEM);
    expect(typed({ server: { https: { key: PEM, cert: bytes, minVersion: 'TLSv1.3', requestCert: true } } }).server.https).toStrictEqual({ key: PEM, cert: bytes, minVersion: 'TLSv1.3', requestCert: true });
    expect(typed({ server: { https: { key: [PEM, bytes], cert: [PEM], ca: [bytes] } } }).server.https?.cert).toEqual([PEM]);
    expect(resolve({ server: { https: { key: [{ pem: PEM, passphrase: 'p' }], cert: PEM } } }).server.https?.cert).toBe(PEM);
    expect(resolve({ server: { https: { pfx: bytes } } }).server.https).toEqual({ pfx: bytes });
    expect(messageOf({ server: { https: { key: [], cert: PEM } } })).toMatch(/^server\.https\.key must be the contents of a PEM file/);
  });
});

describe('the resolved options', () => {
  const given: CreateServerOptions = {
    logging: { logger: quiet },
    routing: { methodNotAllowed: true },
    server: { trustProxy: ['loopback'], uniqueHeaders: ['a', 'b'], https: { key: [PEM], cert: Buffer.from(PEM) } },
    security: {
      requestSignature: { secret: [SECRET] },
      routeConfig: { requestSignature: { includeRoutes: [{ path: '/a', methods: ['GET'] }, '/b'], excludeRoutes: ['/c'] } },
    },
  };

  function unfrozen(value: unknown, path: string): string[] {
    if (typeof value !== 'object' || value === null || value === quiet || Buffer.isBuffer(value)) return [];
    return [...(Object.isFrozen(value) ? [] : [path]), ...Object.entries(value).flatMap(([key, inner]) => unfrozen(inner, `${path}.${key}`))];
  }

  test.each([[{}], [given], [{ body: false }], [{ security: {} }], [signed({})]])('are frozen throughout: %#', (options) => {
    expect(unfrozen(resolve(options), 'options')).toEqual([]);
  });

  test('share nothing with what was given, which stays as it was', () => {
    expect(unfrozen(given, 'given').length).toBeGreaterThan(12);
    const list = ['/a'];
    const resolved = resolve(scoped({ includeRoutes: list }));
    list.push('/b');
    expect(resolved.security.includeRoutes).toEqual(['/a']);
  });
});
