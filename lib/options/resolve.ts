import { constants } from 'node:buffer';
import { LOG_LEVELS, checkLogger, type LineLevel } from '../logger';
import {
  callback, describe, type Field, type Fields, flag, integer, isHeaderName, matching, milliseconds, oneOf, optional, otherwise, refined, refuse, ROOT, section,
  text, type Warning,
} from './field';
import { type Sections, tellUnknown } from './hint';
import type { LoggingOptions } from './options';
import type { ResolvedOptions, ResolvedRequestId } from './resolved';
import { guardHome, security, SECURITY_SECTIONS, strayHome } from './security';
import { server, SERVER_SECTIONS } from './server';

const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

/** Bytes as a number, or as text such as `'1.5mb'`. */
const bytes: Field<number> = (given, name, warnings) => {
  if (typeof given !== 'string') return integer(1, constants.MAX_LENGTH, ' of bytes')(given, name, warnings);
  const [, amount, unit = 'b'] = /^(\d+(?:\.\d+)?) ?([kmg]?b)?$/i.exec(given) ?? [];
  const size = Math.floor(Number(amount) * (UNITS[unit.toLowerCase()] ?? NaN));
  return size >= 1 && size <= constants.MAX_LENGTH ? size : refuse(name, "a number of bytes or text such as '100kb' or '1mb'", describe(given));
};

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

type GivenLogging = Omit<ResolvedOptions['logging'], 'slowAfter'> & { readonly slowAfter: number | undefined };

const LOGGING: Fields<GivenLogging> = {
  level: otherwise('info' as const, oneOf(...LOG_LEVELS)),
  logger: optional(checkLogger),
  requestId: otherwise(false as const, requestId),
  requests: otherwise('debug' as const, requests),
  slowAfter: optional(milliseconds),
};

const ROUTING: Fields<ResolvedOptions['routing']> = {
  caseSensitive: otherwise(true, flag),
  ignoreTrailingSlash: otherwise(false, flag),
  ignoreDuplicateSlashes: otherwise(false, flag),
  methodNotAllowed: otherwise(false, flag),
};

const BODY: Fields<Omit<ResolvedOptions['body'], 'parse'>> = {
  limit: otherwise(1_048_576, bytes),
  bigint: otherwise(false, flag),
};

const body: Field<ResolvedOptions['body']> = (given, name, warnings) => {
  if (given === true) refuse(name, 'an object or false', 'true');
  return Object.freeze({ parse: given !== false, ...section(BODY, strayHome)(given === false ? undefined : given, name, warnings) });
};

const logging: Field<GivenLogging> = (given, name, warnings) => {
  const resolved = section(LOGGING, strayHome)(given, name, warnings);
  const level = given === undefined ? undefined : (given as LoggingOptions).level;
  if (resolved.logger !== undefined && level !== undefined) warnings.push(`${name}.level has no effect beside ${name}.logger, which keeps its own`);
  return resolved;
};

const etag: Field<ResolvedOptions['etag']> = refined(oneOf<boolean | 'weak' | 'strong'>(true, false, 'weak', 'strong'), (given) => (given === true ? 'weak' : given));

const TOP = {
  env: optional(text),
  etag: otherwise(false as const, etag),
  logging,
  routing: section(ROUTING, strayHome),
  body,
  server,
  security,
};

const options = section(TOP, guardHome);

const SECTIONS: Sections = {
  '': TOP, 'logging.': LOGGING, 'logging.requestId.': REQUEST_ID, 'routing.': ROUTING, 'body.': BODY, ...SERVER_SECTIONS, ...SECURITY_SECTIONS,
};

/**
 * Checks what was given to `createServer` once, and fills in every default.
 * @param given The options; `undefined` means none (INTERFACE sections 2.5 and 2.6).
 * @param environment NODE_ENV is the default of `env`, PORT that of `server.port`; empty text counts as unset.
 * @throws TypeError that names the option, what was given (of a secret only its kind) and what it must be.
 */
export function resolveOptions(given: unknown, environment: Readonly<NodeJS.ProcessEnv>): ResolvedOptions {
  const warnings: Warning[] = [];
  const { env: named, ...resolved } = options(given, ROOT, warnings);
  const env = named ?? (environment['NODE_ENV'] || 'production');
  const { slowAfter = env === 'development' ? 10_000 : 0 } = resolved.logging;
  return Object.freeze({
    ...resolved,
    env,
    logging: Object.freeze({ ...resolved.logging, slowAfter }),
    server: Object.freeze({ ...resolved.server, port: resolved.server.port ?? portOf(environment['PORT']) }),
    warnings: Object.freeze(warnings.map((warning) => (typeof warning === 'string' ? warning : tellUnknown(warning, SECTIONS)))),
  });
}

function portOf(given: string | undefined): number {
  if (given === undefined || given === '') return 3000;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : NaN;
  return port <= 65_535 ? port : refuse('the environment variable PORT', 'an integer from 0 to 65535', describe(given));
}
