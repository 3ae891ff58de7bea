import { METHODS } from 'node:http';
import {
  bytes, describe, describeKind, type Field, type Fields, flag, type HomeOf, integer, isGiven, isHeaderName, listOf, LONGEST_DELAY,
  matching, oneOf, optional, otherwise, refined, refuse, section, text, type Warning,
} from './field';
import { guardHome, GUARDS, type Sections } from './hint';
import type { ReplayOptions, ResponseSigningOptions, ScopeEntry, SecretLookup, SignatureKey, SignatureKeys, SignatureRoutes, WebBotAuthOptions, WebhookConfig } from './options';
import type { ResolvedSecurity, ResolvedSignature, ResolvedWebhook } from './resolved';

/** Path of an option of the signature check, if the key is one. */
function homeOf(key: string): string | undefined {
  const folded = key.toLowerCase();
  const among = (fields: object): string | undefined => Object.keys(fields).find((name) => name.toLowerCase() === folded);
  const setting = among(SIGNATURE);
  if (setting !== undefined) return `security.requestSignature.${setting}`;
  const list = among(SIGNATURE_ROUTES);
  return list === undefined ? guardHome(key) : `security.routeConfig.requestSignature.${list}`;
}

/** A section in which a misspelt or misplaced key throws. */
function guard<T extends object>(fields: Fields<T>, home: HomeOf = homeOf): Field<Readonly<T>> {
  return section(fields, home, true);
}

/** True for a public key or certificate in PEM. As a secret of HMAC it would let everyone sign. */
export function isPublicText(text: string): boolean {
  return /-----BEGIN [A-Z ]*(?:PUBLIC KEY|CERTIFICATE)-----/.test(text);
}

// HMAC pads a short key with NULs: a secret of nothing else is the empty one.
const secretText = matching<string>('a non-empty string', (given) => typeof given === 'string' && !/^\0*$/.test(given) && !isPublicText(given), (given) => (
  typeof given === 'string' && given !== '' ? isPublicText(given) ? 'a public key, which everyone may know: write it as keys, with version: 2' : 'nothing but NUL characters' : describeKind(given)
));

const secrets: Field<readonly string[]> = (given, name, warnings) => {
  const list = Array.isArray(given) ? listOf(secretText, '')(given, name, warnings) : Object.freeze([secretText(given, name, warnings)]);
  if (list.length === 0) refuse(name, 'a non-empty string, or an array of one or more', 'an empty array');
  list.forEach((secret, index) => {
    if (Buffer.byteLength(secret) < 32) warnings.push(`${Array.isArray(given) ? `${name}[${index}]` : name} is shorter than 32 bytes`);
  });
  return list;
};

const secret: Field<readonly string[] | SecretLookup> = (given, name, warnings) =>
  typeof given === 'function' ? (given as SecretLookup) : secrets(given, name, warnings);

// Each key is read where it is used: that needs node:crypto.
const keys = matching<SignatureKeys>(
  'a public key (a KeyObject, PEM or a JWK), an array of them, a function that returns those of a key id, or { jwks: "https://…" }',
  (given) => (typeof given === 'object' && given !== null && 'jwks' in given ? isKeyAddress(given.jwks) : Array.isArray(given) ? given.length > 0 : ['object', 'function'].includes(typeof given) ? given !== null : isPublicText(String(given))),
  describeKind,
);

/** True for an address of https, or of http on this machine. */
function isKeyAddress(given: unknown): boolean {
  if (!URL.canParse(String(given))) return false;
  const { protocol, hostname } = new URL(String(given));
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname));
}

const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  // Node keeps the first of two such headers (its docs, `message.headers`); a proxy may keep the last.
  'age', 'authorization', 'content-length', 'content-type', 'etag', 'expires', 'from', 'host', 'if-modified-since', 'if-unmodified-since', 'last-modified',
  'location', 'max-forwards', 'proxy-authorization', 'referer', 'retry-after', 'server', 'user-agent',
  // HTTP/2 does so with these as well.
  'access-control-allow-credentials', 'access-control-max-age', 'access-control-request-method', 'content-encoding', 'content-language', 'content-location',
  'content-md5', 'content-range', 'date', 'dnt', 'if-match', 'if-none-match', 'if-range', 'range', 'tk', 'upgrade-insecure-requests', 'x-content-type-options',
  // Node joins these in another way, or acts on them.
  'connection', 'cookie', 'expect', 'set-cookie', 'trailer', 'transfer-encoding', 'upgrade',
]);

/** Warns of a header that proxies change. */
function throughProxies(given: string, name: string, warnings: Warning[]): string {
  const [header = ''] = given.split(';', 1);
  if (header.includes('_')) warnings.push(`${name} is ${describe(given)}, and nginx drops a header with "_" in its name, unless underscores_in_headers is on; write "-"`);
  if (/^x-forwarded-/i.test(header)) warnings.push(`${name} is ${describe(given)}, which proxies write anew: behind one the signature would not match`);
  return given;
}

const headerName = refined(
  matching<string>(
    'a header name (RFC 9110 section 5.1) that nothing else uses',
    // Names that every object has would be found in any request.
    (given) => isHeaderName(given) && !RESERVED_HEADERS.has(String(given).toLowerCase()) && !(String(given).toLowerCase() in Object.prototype),
  ),
  throughProxies,
);
const maxAge = matching<number>('a positive number of milliseconds', (given) => Number.isFinite(given) && Number(given) > 0);
const clockSkew = matching<number>('a number of milliseconds, 0 or more', (given) => Number.isFinite(given) && Number(given) >= 0);

const timeout = integer(1, LONGEST_DELAY, ' of milliseconds');

/** Headers that `covers` must not name; the digest of a body is covered where there is one. */
const UNCOVERABLE: ReadonlySet<string> = new Set(['content-digest', 'signature', 'signature-input']);
const DERIVED: ReadonlySet<string> = new Set(['@authority', '@request-target', '@target-uri', '@scheme']);
/** A parameter of a component: `;sf`, `;bs` or `;key="…"` of a header, `;name="…"` of `@query-param` (RFC 9421 sections 2.1 and 2.2.8). */
const PARAMETER = /;(?:sf|bs|key="[^"\\]*")$/;
const component = refined(
  matching<string>(
    'the name of a header other than Content-Digest, Signature and Signature-Input, or "@authority", "@scheme", "@target-uri", "@request-target" or "@query-param;name=…"',
    (given) => DERIVED.has(given as string) || (typeof given === 'string' && (/^@query-param;name="[^"\\]*"$/.test(given) || (isHeaderName(given.replace(PARAMETER, '')) && !UNCOVERABLE.has(given.replace(PARAMETER, '').toLowerCase())))),
  ),
  (given, name, warnings) => throughProxies(given.replace(/^[^;]*/, (header) => header.toLowerCase()), name, warnings),
);

const prefix = matching<string>('a path of visible ASCII that begins with "/" and has no "/" at its end, no "?" and no "#", such as "/api"', (given) => typeof given === 'string' && /^\/[\x21-\x7e]+$/.test(given) && !/[?#]|\/$/.test(given));

const store = matching<ReplayOptions['store']>(
  'an object with a method claim(digest, expires), such as a MemoryReplayStore',
  (given) => typeof given === 'object' && given !== null && typeof (given as { claim?: unknown }).claim === 'function',
  describeKind,
);

const REPLAY: Fields<ReplayOptions> = { store };

const WEB_BOT_AUTH: Fields<Required<WebBotAuthOptions>> = {
  agents: listOf(matching<string>('the https origin of an agent, such as "https://agent.example"', isKeyAddress), 'an array of https origins'),
  unsigned: otherwise('refuse' as const, oneOf('accept', 'refuse')),
};

const SIGNATURE: Fields<ResolvedSignature> = {
  secret: otherwise(Object.freeze([]), secret),
  keys: optional(keys),
  keyIdHeaderName: otherwise('X-Key-Id', headerName),
  version: otherwise(1 as const, oneOf(1, 2)),
  debug: otherwise(false, flag),
  algorithm: otherwise('sha256' as const, oneOf('sha256', 'sha512')),
  maxAge: otherwise(300_000, maxAge),
  headerName: otherwise('Svc-Request-Sig', headerName),
  timestampHeaderName: otherwise('X-Timestamp', headerName),
  includeBody: otherwise(true, flag),
  includeQuery: otherwise(true, flag),
  prefix: otherwise('', prefix),
  clockSkew: otherwise(30_000, clockSkew),
  ambiguousBody: otherwise('accept' as const, oneOf('accept', 'reject')),
  covers: otherwise(Object.freeze([]), listOf(component, 'an array of what must be signed, such as ["@authority"]')),
  nonce: otherwise('required' as const, oneOf('required', 'optional')),
  tag: optional(text),
  label: optional(matching<string>('a label: lower-case letters, digits and "_-.*", no digit first', (given) => typeof given === 'string' && /^[a-z*][a-z0-9_\-.*]*$/.test(given))),
  webBotAuth: optional(guard(WEB_BOT_AUTH)),
  replay: optional(guard(REPLAY)),
  timeout: otherwise(5000, timeout),
};

/** Options of version 2 alone, which version 1 has no place for. */
const VERSION_2_OPTIONS = ['covers', 'keys', 'nonce', 'tag', 'label', 'webBotAuth'] as const;

/** Options of version 1 alone: RFC 9421 and RFC 9530 settle them. */
const VERSION_1_OPTIONS = ['headerName', 'timestampHeaderName', 'keyIdHeaderName', 'ambiguousBody'] as const;

const signature: Field<ResolvedSignature> = (given, name, warnings) => {
  const settings = guard(SIGNATURE)(given, name, warnings);
  if (settings.version === 2) {
    const settled = VERSION_1_OPTIONS.find((key) => isGiven(given, key));
    if (settled !== undefined) refuse(`${name}.${settled}`, 'left out with version: 2, where RFC 9421 settles it', describe((given as Record<string, unknown>)[settled]));
    if (settings.algorithm !== 'sha256') refuse(`${name}.algorithm`, '"sha256" with version: 2 (RFC 9421 section 3.3.3 knows no other HMAC)', describe(settings.algorithm));
  } else {
    const unknown = VERSION_2_OPTIONS.find((key) => isGiven(given, key));
    if (unknown !== undefined) refuse(`${name}.${unknown}`, `left out with version: 1, which ${unknown === 'covers' ? 'signs no headers' : 'has none'}; write version: 2`, describeKind(settings[unknown]));
  }
  const [source, other] = (['webBotAuth', 'keys', 'secret'] as const).filter((key) => isGiven(given, key));
  if (other !== undefined) refuse(`${name}.${other}`, `left out beside ${name}.${source}, since either would let a signature pass`, describeKind(settings[other]));
  if (source === undefined) secret(undefined, `${name}.secret`, warnings);
  if (typeof settings.secret !== 'function' && isGiven(given, 'keyIdHeaderName')) {
    refuse(`${name}.keyIdHeaderName`, 'left out unless secret is a function, which is asked for the secrets of a key id', describe(settings.keyIdHeaderName));
  }
  const names = [settings.headerName, settings.timestampHeaderName, settings.keyIdHeaderName].map((header) => header.toLowerCase());
  if (names[0] === names[1]) refuse(`${name}.timestampHeaderName`, `another header than ${name}.headerName`, describe(settings.timestampHeaderName));
  if (typeof settings.secret === 'function' && names.indexOf(names[2] as string) !== 2) {
    refuse(`${name}.keyIdHeaderName`, `another header than ${name}.headerName and ${name}.timestampHeaderName`, describe(settings.keyIdHeaderName));
  }
  if (settings.webBotAuth === undefined) return settings;
  const { tag = 'web-bot-auth', nonce, includeBody } = settings;
  return Object.freeze({ ...settings, tag, nonce: isGiven(given, 'nonce') ? nonce : 'optional', includeBody: isGiven(given, 'includeBody') && includeBody });
};

const routePattern = matching<string>('a route pattern that starts with "/"', (given) => typeof given === 'string' && given.startsWith('/'));
const method = refined(matching<string>('an HTTP method such as "GET"', (given) => typeof given === 'string' && METHODS.includes(given.toUpperCase())), (given) => given.toUpperCase());
const methods = refined(listOf(method, 'an array of HTTP methods'), (list, name) => (list.length > 0 ? list : refuse(name, 'an array of one or more HTTP methods', 'an empty array')));
const routeOfMethods = guard<Exclude<ScopeEntry, string>>({ path: routePattern, methods: optional(methods) });

const scopeEntry: Field<ScopeEntry> = (given, name, warnings) =>
  typeof given === 'object' && given !== null ? routeOfMethods(given, name, warnings) : routePattern(given, name, warnings);

const scope = otherwise(Object.freeze([]), listOf(scopeEntry, 'an array of route patterns'));

const SIGNATURE_ROUTES: Fields<Required<SignatureRoutes>> = { includeRoutes: scope, excludeRoutes: scope };

/** Presets of services that sign no time. */
const UNTIMED: ReadonlySet<string> = new Set(['github', 'shopify', 'square', 'twilio']);

const WEBHOOK: Fields<Omit<ResolvedWebhook, 'secrets'> & { secret: readonly string[] }> = {
  path: routePattern,
  preset: oneOf('standard', 'svix', 'stripe', 'github', 'slack', 'zoom', 'paddle', 'discord', 'shopify', 'square', 'twilio'),
  secret: secrets,
  url: optional(matching<string>('an absolute http(s) URL without a query', (given) => typeof given === 'string' && /^https?:\/\/[^?#]+$/.test(given) && URL.canParse(given))),
  limit: optional(bytes),
  maxAge: otherwise(300_000, maxAge),
  // Standard Webhooks takes as much, and Stripe and Slack put no bound on it: their clocks are right, and the server's may be late.
  clockSkew: otherwise(300_000, clockSkew),
  debug: otherwise(false, flag),
  replay: optional(guard(REPLAY)),
  timeout: otherwise(5000, timeout),
};

const webhook: Field<ResolvedWebhook> = (given, name, warnings) => {
  const found: Warning[] = [];
  const { secret: held, ...settings } = guard(WEBHOOK, () => undefined)(given, name, found);
  // Drops warnings of short secrets: the service has made them.
  warnings.push(...found.filter((warning) => typeof warning !== 'string'));
  const timed = (['maxAge', 'clockSkew', 'replay'] as const).find((key) => isGiven(given, key));
  const { preset, url } = settings;
  if (UNTIMED.has(preset) && timed !== undefined) {
    refuse(`${name}.${timed}`, `left out with preset "${preset}", which signs no time${timed === 'replay' ? ', so that a store would have no end' : ''}`, describe((given as WebhookConfig)[timed]));
  }
  const signsUrl = preset === 'square' || preset === 'twilio';
  if (signsUrl !== (url !== undefined)) refuse(`${name}.url`, signsUrl ? `the address that ${preset} calls, which it signs` : `left out with preset "${preset}", which signs no address`, describe(url));
  return Object.freeze({ ...settings, maxAge: preset === 'paddle' && !isGiven(given, 'maxAge') ? 5000 : settings.maxAge, secrets: held });
};

const webhooks = listOf(webhook, 'an array of webhooks { path, preset, secret }');

const RESPONSES: Fields<Required<ResponseSigningOptions>> = {
  // It is read where it is used: that needs node:crypto.
  key: matching<SignatureKey>('a private key: a KeyObject, PEM or a JWK', (given) => (typeof given === 'object' && given !== null) || (typeof given === 'string' && given.includes('PRIVATE KEY')), describeKind),
  keyId: optional(text) as Field<string>,
};

/** Sections for hints. A webhook's options lie in an entry of a list, which has no path to name. */
export const SECURITY_SECTIONS: Sections = {
  'security.': Object.fromEntries(GUARDS.map((name) => [name, name])),
  'security.requestSignature.': SIGNATURE,
  'security.requestSignature.replay.': REPLAY,
  'security.requestSignature.webBotAuth.': WEB_BOT_AUTH,
  'security.routeConfig.requestSignature.': SIGNATURE_ROUTES,
  'security.signResponses.': RESPONSES,
};

/** `security`: a misspelt guard throws, since it would not start. */
export const security: Field<ResolvedSecurity> = refined(
  guard({
    requestSignature: optional(signature),
    routeConfig: optional(guard({ requestSignature: optional(guard(SIGNATURE_ROUTES)) })),
    webhooks: otherwise(Object.freeze([]), webhooks),
    signResponses: optional(guard(RESPONSES)),
  }),
  ({ requestSignature, routeConfig, webhooks, signResponses }, name) => {
    const routes = routeConfig?.requestSignature;
    if (routes !== undefined && requestSignature === undefined) {
      throw new TypeError(`${name}.routeConfig.requestSignature needs ${name}.requestSignature: without a secret no route is checked`);
    }
    const { includeRoutes = [], excludeRoutes = [] } = routes ?? {};
    return Object.freeze({ requestSignature, includeRoutes: Object.freeze(includeRoutes), excludeRoutes: Object.freeze(excludeRoutes), webhooks, signResponses });
  },
);
