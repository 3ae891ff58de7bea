import { METHODS } from 'node:http';
import {
  describe, describeKind, type Field, type Fields, flag, is, isHeaderName, listOf, oneOf, optional, otherwise, refuse, section, then,
} from './option-field';
import type {
  ReplayOptions, ResolvedSecurity, ResolvedSignature, ResolvedWebhook, ScopeEntry, SecretLookup, SignatureRoutes, WebhookConfig,
} from './options';

/** Where an option of the signature check belongs, if the key is one. */
function homeOf(key: string): string | undefined {
  const folded = key.toLowerCase();
  const among = (fields: object): string | undefined => Object.keys(fields).find((name) => name.toLowerCase() === folded);
  const setting = among(SIGNATURE);
  if (setting !== undefined) return `security.requestSignature.${setting}`;
  const list = among(SIGNATURE_ROUTES);
  return list === undefined ? undefined : `security.routeConfig.requestSignature.${list}`;
}

// HMAC pads a short key with NULs, so a secret of nothing else is the empty one.
const secretText = is<string>('a non-empty string', (given) => typeof given === 'string' && !/^\0*$/.test(given), describeKind);

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

// Headers that Node joins in another way, drops or sets by itself, and names that every object has.
const TAKEN: ReadonlySet<string> = new Set(['connection', 'content-length', 'content-type', 'host', 'set-cookie', 'transfer-encoding']);
const headerName = is<string>(
  'a header name (RFC 9110 section 5.1) that nothing else uses',
  (given) => isHeaderName(given) && !TAKEN.has(String(given).toLowerCase()) && !(String(given).toLowerCase() in Object.prototype),
);
const maxAge = is<number>('a positive number of milliseconds', (given) => Number.isFinite(given) && Number(given) > 0);
const clockSkew = is<number>('a number of milliseconds, 0 or more', (given) => Number.isFinite(given) && Number(given) >= 0);

const store = is<ReplayOptions['store']>(
  'an object with a method claim(digest, expires), such as a MemoryReplayStore',
  (given) => typeof given === 'object' && given !== null && typeof (given as { claim?: unknown }).claim === 'function',
  describeKind,
);

const SIGNATURE: Fields<ResolvedSignature> = {
  secret,
  keyIdHeaderName: otherwise('X-Key-Id', headerName),
  version: otherwise(1 as const, oneOf(1, 2)),
  debug: otherwise(false, flag),
  algorithm: otherwise('sha256' as const, oneOf('sha256', 'sha512')),
  maxAge: otherwise(300_000, maxAge),
  headerName: otherwise('Svc-Request-Sig', headerName),
  timestampHeaderName: otherwise('X-Timestamp', headerName),
  includeBody: otherwise(true, flag),
  includeQuery: otherwise(true, flag),
  clockSkew: otherwise(30_000, clockSkew),
  ambiguousBody: otherwise('accept' as const, oneOf('accept', 'reject')),
  replay: optional(section<ReplayOptions>({ store }, homeOf)),
};

/** What RFC 9421 and RFC 9530 settle by themselves. */
const SETTLED_BY_VERSION_2 = ['headerName', 'timestampHeaderName', 'keyIdHeaderName', 'ambiguousBody'] as const;

const signature: Field<ResolvedSignature> = (given, name, warnings) => {
  const settings = section(SIGNATURE, homeOf)(given, name, warnings);
  const isGiven = (key: string): boolean => Object.hasOwn(given as object, key);
  if (settings.version === 2) {
    const settled = SETTLED_BY_VERSION_2.find(isGiven);
    if (settled !== undefined) refuse(`${name}.${settled}`, 'left out with version: 2, where RFC 9421 settles it', describe((given as Record<string, unknown>)[settled]));
    if (settings.algorithm !== 'sha256') refuse(`${name}.algorithm`, '"sha256" with version: 2 (RFC 9421 section 3.3.3 knows no other HMAC)', describe(settings.algorithm));
  }
  if (typeof settings.secret !== 'function' && isGiven('keyIdHeaderName')) {
    refuse(`${name}.keyIdHeaderName`, 'left out unless secret is a function, which is asked for the secrets of a key id', describe(settings.keyIdHeaderName));
  }
  const names = [settings.headerName, settings.timestampHeaderName, settings.keyIdHeaderName].map((header) => header.toLowerCase());
  if (names[0] === names[1]) refuse(`${name}.timestampHeaderName`, `another header than ${name}.headerName`, describe(settings.timestampHeaderName));
  if (typeof settings.secret === 'function' && names.indexOf(names[2] as string) !== 2) {
    refuse(`${name}.keyIdHeaderName`, `another header than ${name}.headerName and ${name}.timestampHeaderName`, describe(settings.keyIdHeaderName));
  }
  return settings;
};

const routePattern = is<string>('a route pattern that starts with "/"', (given) => typeof given === 'string' && given.startsWith('/'));
const method = then(is<string>('an HTTP method such as "GET"', (given) => typeof given === 'string' && METHODS.includes(given.toUpperCase())), (given) => given.toUpperCase());
const methods = then(listOf(method, 'an array of HTTP methods'), (list, name) => (list.length > 0 ? list : refuse(name, 'an array of one or more HTTP methods', 'an empty array')));
const routeOfMethods = section<Exclude<ScopeEntry, string>>({ path: routePattern, methods: optional(methods) }, homeOf);

const scopeEntry: Field<ScopeEntry> = (given, name, warnings) =>
  typeof given === 'object' && given !== null ? routeOfMethods(given, name, warnings) : routePattern(given, name, warnings);

const scope = otherwise(Object.freeze([]), listOf(scopeEntry, 'an array of route patterns'));

const SIGNATURE_ROUTES: Fields<Required<SignatureRoutes>> = { includeRoutes: scope, excludeRoutes: scope };

const WEBHOOK: Fields<Omit<ResolvedWebhook, 'secrets'> & { secret: readonly string[] }> = {
  path: routePattern,
  preset: oneOf('standard', 'stripe', 'github', 'slack'),
  secret: secrets,
  maxAge: otherwise(300_000, maxAge),
  // Standard Webhooks takes as much, and Stripe and Slack put no bound on it: their clocks are right, and the server's may be late.
  clockSkew: otherwise(300_000, clockSkew),
  debug: otherwise(false, flag),
};

const webhook: Field<ResolvedWebhook> = (given, name) => {
  // Of their length nobody need be warned: the service has made them.
  const { secret: held, ...settings } = section(WEBHOOK, () => undefined)(given, name, []);
  const timed = (['maxAge', 'clockSkew'] as const).find((key) => Object.hasOwn(given as object, key));
  if (settings.preset === 'github' && timed !== undefined) {
    refuse(`${name}.${timed}`, 'left out with preset "github", which signs no time', describe((given as WebhookConfig)[timed]));
  }
  return Object.freeze({ ...settings, secrets: held });
};

const webhooks = then(listOf(webhook, 'an array of webhooks { path, preset, secret }'), (list, name) => {
  const twice = list.findIndex(({ path }, index) => list.findIndex((other) => other.path === path) !== index);
  if (twice !== -1) refuse(`${name}[${twice}].path`, 'a path that no webhook before it has, since a request would have to be signed both ways', describe(list[twice]?.path));
  return list;
});

/** `security`: a misspelt guard throws, since it would not start. */
export const security: Field<ResolvedSecurity> = then(
  section(
    {
      requestSignature: optional(signature),
      routeConfig: optional(section({ requestSignature: optional(section(SIGNATURE_ROUTES, homeOf)) }, homeOf)),
      webhooks: otherwise(Object.freeze([]), webhooks),
    },
    homeOf,
  ),
  ({ requestSignature, routeConfig, webhooks }, name) => {
    const routes = routeConfig?.requestSignature;
    if (routes !== undefined && requestSignature === undefined) {
      throw new TypeError(`${name}.routeConfig.requestSignature needs ${name}.requestSignature: without a secret no route is checked`);
    }
    const { includeRoutes = [], excludeRoutes = [] } = routes ?? {};
    return Object.freeze({ requestSignature, includeRoutes: Object.freeze(includeRoutes), excludeRoutes: Object.freeze(excludeRoutes), webhooks });
  },
);
