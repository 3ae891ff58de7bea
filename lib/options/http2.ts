import { constants } from 'node:http2';
import { describe, type Field, type Fields, flag, integer, LONGEST_DELAY, milliseconds, onlyGiven, otherwise, refined, refuse, section } from './field';
import type { Http2Options } from './options';
import type { ResolvedHttp2 } from './resolved';

const UINT32 = 2 ** 32 - 1;
const natural = integer(1, LONGEST_DELAY);

/** Node's own, by their own names; each has a bound where none is given. */
const LIMITS: Fields<ResolvedHttp2['limits']> = {
  maxHeaderListPairs: otherwise(128, natural),
  maxSessionMemory: otherwise(10, natural),
  streamResetBurst: otherwise(200, natural),
  streamResetRate: otherwise(10, natural),
};

export const HTTP2: Fields<Required<Http2Options>> = {
  ...LIMITS,
  cleartext: otherwise(false, flag),
  maxConcurrentStreams: otherwise(100, integer(1, UINT32)),
  initialWindowSize: otherwise(65_535, integer(1, constants.MAX_INITIAL_WINDOW_SIZE)),
  maxControlFrames: otherwise(600, natural),
  idleTimeout: otherwise(60_000, milliseconds),
};

const options = refined(section(HTTP2), (given): ResolvedHttp2 => {
  const { cleartext, maxConcurrentStreams, initialWindowSize, maxControlFrames, idleTimeout } = given;
  return Object.freeze({ cleartext, maxControlFrames, idleTimeout, settings: Object.freeze({ maxConcurrentStreams, initialWindowSize, enablePush: false }), limits: onlyGiven<ResolvedHttp2['limits']>(given, LIMITS) });
});

/** `server.http2`: true, `'cleartext'`, or an object. */
export const http2: Field<ResolvedHttp2 | false> = (given, name, warnings) => {
  if (given === false) return false;
  if (typeof given !== 'object' && given !== true && given !== 'cleartext') refuse(name, "true, 'cleartext', false or an object of options", describe(given));
  return options(given === true ? {} : given === 'cleartext' ? { cleartext: true } : given, name, warnings);
};
