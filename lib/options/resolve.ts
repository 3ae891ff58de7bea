import type { ErrorFormat } from '../errors';
import { LOG_LEVELS, checkLogger, type LineLevel } from '../log/logger';
import {
  bytes, callback, count, describe, type Field, type Fields, flag, type HomeOf, isHeaderName, matching, milliseconds, oneOf, optional, otherwise, refined, refuse, ROOT,
  section, strayHome, text, unknown, type Warning,
} from './field';
import type { Sections } from './hint';
import type { LoggingOptions } from './options';
import type { ResolvedOptions, ResolvedRequestId, ResolvedSecurity } from './resolved';
import { server, serverSections } from './server';
import { late } from '../packages';

const guards = late(() => require('./security') as typeof import('./security'));
const UNGUARDED: ResolvedSecurity = Object.freeze({ requestSignature: undefined, includeRoutes: Object.freeze([]), excludeRoutes: Object.freeze([]), webhooks: Object.freeze([]), signResponses: undefined });
const security = otherwise(UNGUARDED, (given, name, warnings) => guards().security(given, name, warnings));

const idHeader: Field<string | false> = refined(
  matching<string | false>('the name of a header, or false', (given) => given === false || isHeaderName(given)),
  (given) => given && given.toLowerCase(),
);

const REQUEST_ID: Fields<ResolvedRequestId> = {
  header: otherwise('x-request-id', idHeader),
  generate: optional(callback),
};

const requestId: Field<ResolvedRequestId | false> = (given, name, warnings) => {
  if (given === false) return false;
  const source = given === true ? {} : typeof given === 'string' ? { header: given } : given;
  return section(REQUEST_ID, strayHome)(source, name, warnings);
};

const LINE_LEVELS = LOG_LEVELS.filter((level) => level !== 'silent');

const requests: Field<LineLevel | false> = refined(oneOf<boolean | LineLevel>(true, false, ...LINE_LEVELS), (given) => (given === true ? 'info' : given));

const LOGGING: Fields<ResolvedOptions['logging']> = {
  level: otherwise('info' as const, oneOf(...LOG_LEVELS)),
  logger: optional(checkLogger),
  requestId: otherwise(false as const, requestId),
  requests: otherwise('debug' as const, requests),
  slowAfter: optional(milliseconds),
};

/** Defaults in which Express and `createServer` differ. */
interface Defaults extends Pick<ResolvedOptions, 'etag'>, Pick<ResolvedOptions['body'], 'parse'>, Pick<ResolvedOptions['routing'], 'caseSensitive' | 'ignoreTrailingSlash'> {}

const EXACT: Defaults = { etag: false, parse: true, caseSensitive: true, ignoreTrailingSlash: false };
const OF_EXPRESS: Defaults = { etag: 'weak', parse: false, caseSensitive: false, ignoreTrailingSlash: true };

function routingBy({ caseSensitive, ignoreTrailingSlash }: Defaults): Fields<ResolvedOptions['routing']> {
  return {
    caseSensitive: otherwise(caseSensitive, flag),
    ignoreTrailingSlash: otherwise(ignoreTrailingSlash, flag),
    ignoreDuplicateSlashes: otherwise(false, flag),
    methodNotAllowed: otherwise(false, flag),
  };
}

const BODY: Fields<Omit<ResolvedOptions['body'], 'parse'>> = {
  limit: otherwise(1_048_576, bytes),
  containerLimit: optional(count),
  bigint: otherwise(false, flag),
};

function bodyBy({ parse }: Defaults): Field<ResolvedOptions['body']> {
  return (given, name, warnings) => {
    if (given === true) refuse(name, 'an object or false', 'true');
    const read = section(BODY, strayHome)(given === false ? undefined : given, name, warnings);
    return Object.freeze({ parse: given === undefined ? parse : given !== false, ...read });
  };
}

const logging: Field<ResolvedOptions['logging']> = (option, name, warnings) => {
  const given = option === false ? { level: 'silent' } : option;
  const resolved = section(LOGGING, strayHome)(given, name, warnings);
  const level = given === undefined ? undefined : (given as LoggingOptions).level;
  if (resolved.logger !== undefined && level !== undefined) warnings.push(`${name}.level has no effect beside ${name}.logger, which keeps its own`);
  return resolved;
};

const etag: Field<ResolvedOptions['etag']> = refined(oneOf<boolean | 'weak' | 'strong'>(true, false, 'weak', 'strong'), (given) => (given === true ? 'weak' : given));

const errors = matching<ErrorFormat>("'problem' or a function (problem, req, error)", (given) => given === 'problem' || typeof given === 'function');

function topBy(defaults: Defaults) {
  return {
    env: optional(text),
    etag: otherwise(defaults.etag, etag),
    errors: optional(errors),
    logging,
    routing: section(routingBy(defaults), strayHome),
    body: bodyBy(defaults),
    server,
    security,
  };
}

const guardHome: HomeOf = (key) => unknown().guardHome(key);
const exact = section(topBy(EXACT), guardHome);
const asExpress = section(topBy(OF_EXPRESS), guardHome);

/** Every option, by section. */
const sections = late((): Sections => ({
  '': topBy(EXACT), 'logging.': LOGGING, 'logging.requestId.': REQUEST_ID, 'routing.': routingBy(EXACT), 'body.': BODY, ...serverSections(), ...guards().SECURITY_SECTIONS,
}));

/**
 * Checks what was given to `createServer` or `express` once, and fills in every default.
 * @param given The options; `undefined` means none (INTERFACE sections 2.5 and 2.6).
 * @param environment NODE_ENV is the default of `env`, PORT that of `server.port`; empty text counts as unset.
 * @param ofExpress True for Express's defaults.
 * @throws TypeError that names the option, what was given (of a secret only its kind) and what it must be.
 */
export function resolveOptions(given: unknown, environment: Readonly<NodeJS.ProcessEnv>, ofExpress = false): ResolvedOptions {
  const warnings: Warning[] = [];
  const { env: named, ...resolved } = (ofExpress ? asExpress : exact)(given, ROOT, warnings);
  const known = named ?? (environment['NODE_ENV'] || undefined);
  return Object.freeze({
    ...resolved,
    env: known ?? 'production',
    hints: known === undefined || known === 'development',
    server: Object.freeze({ ...resolved.server, port: resolved.server.port ?? portOf(environment['PORT']) }),
    warnings: Object.freeze(warnings.map((warning) => (typeof warning === 'string' ? warning : unknown().tellUnknown(warning, sections())))),
  });
}

function portOf(given: string | undefined): number {
  if (given === undefined || given === '') return 3000;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : NaN;
  return port <= 65_535 ? port : refuse('the environment variable PORT', 'an integer from 0 to 65535', describe(given));
}
