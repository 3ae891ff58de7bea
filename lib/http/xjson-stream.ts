import { constants } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import { bindContext } from '../async-context';
import { forgetFraming, isBodiless, stripContent } from './answer';
import { Chunks } from './chunks';
import { checkXJsonOptions, mergeXJsonOptions, STREAMING_THRESHOLD, XJSON_DEFAULTS, type XJsonOptions } from '../xjson/options';
import { isAscii } from './node/header-fields';
import { sendCorked } from './own-answer';
import { type ConfiguredResponse, kAnswering, kLatin1, kSign } from './response-state';
import { type FailureReport, messageOf, sendFailure, stackOf } from './serialization-failure';
import { Serializer } from '../xjson/serializer';
import { workInSlices } from './slices';
import { unsendable } from './unsendable';
import { setImmediate } from '../timers';

/** Without a framework around it, a failure is a process warning. */
const STANDALONE: FailureReport = {
  get development() {
    return process.env['NODE_ENV'] === 'development';
  },
  onError(error) {
    const detail = stackOf(error);
    process.emitWarning(`xJson could not answer: ${messageOf(error)}`, detail === undefined ? {} : { detail });
  },
};

/**
 * Answers with any data as JSON (INTERFACE section 4.3). The work is done in
 * slices: small data is sent before this returns, large data keeps no other
 * request waiting. Nothing is sent before all is serialized, so that a failure
 * is a clean 500, and data that changes meanwhile harms no length.
 * @param given Options of the call, not checked yet.
 * @param base Options that they go before.
 * @throws TypeError for a wrong option; nothing for the data.
 */
export function sendXJson(
  res: ServerResponse,
  data: unknown,
  given: XJsonOptions | undefined,
  base: XJsonOptions | undefined,
  report: FailureReport = STANDALONE,
): void {
  const options = mergeXJsonOptions(base, given === undefined ? undefined : checkXJsonOptions(given));
  if (res.headersSent) {
    sendFailure(res, new Error('xJson cannot answer: a response has been sent already'), report);
    return;
  }
  const unfit = unsendable(data, 'xJson', !('stream' in res));
  if (unfit !== undefined) {
    sendFailure(res, unfit, report);
    return;
  }
  (res as { [kAnswering]?: boolean })[kAnswering] = true;
  const chunks = new Chunks(!isBodiless(res));
  const serializer = new Serializer(data, options, chunks);
  workInSlices((until) => {
    try {
      refuseSecond(res);
      if (!res.destroyed) {
        if (!serializer.run(until)) return false;
        sendJson(res, serializer.text, chunks, options, (error) => sendFailure(res, error, report));
      }
    } catch (error) {
      sendFailure(res, error, report);
    }
    return true;
  });
}

/**
 * Answers with JSON as `application/json`: at once, or in chunks if it is long
 * (INTERFACE section 4.3). Goes through the response's own methods, so that
 * middleware which replaced them, such as compression, takes part. Must not be
 * called when the head is out.
 * @param text Null where the data is in the chunks.
 * @param failed Called with an error that no caller can catch.
 */
function sendJson(res: ServerResponse, text: string | null, chunks: Chunks, { enableStreaming, chunkSize }: XJsonOptions, failed: (error: unknown) => void): void {
  if (stripContent(res)) {
    res.removeHeader('Content-Type');
    res.end();
    return;
  }
  const length = text === null ? chunks.length : Buffer.byteLength(text);
  res.setHeader('Content-Type', 'application/json');
  forgetFraming(res);
  res.setHeader('Content-Length', length);
  if (isBodiless(res)) res.end();
  else if (length > STREAMING_THRESHOLD && (enableStreaming !== false || length > constants.MAX_LENGTH)) {
    if (text !== null) chunks.add(text);
    sendPieces(res, chunks, chunkSize ?? XJSON_DEFAULTS.chunkSize, failed);
  } else if (text === null) res.end(chunks.take(length));
  else endWith(res, text, length);
}

/**
 * Node writes a string with the head, both in one encoding, and a buffer
 * separately. The head's fields are read as Latin-1, so UTF-8 is only for fields
 * of ASCII. A replaced `end` gets the buffer: it may overlook the encoding.
 */
function endWith(res: ServerResponse & Pick<ConfiguredResponse, typeof kSign>, json: string, length: number): void {
  if (length > STREAMING_THRESHOLD || Object.hasOwn(res, 'end')) res.end(Buffer.from(json));
  else if (length === json.length) res.end(json, 'latin1');
  else {
    // Behind its head a response is not signed.
    res[kSign]?.(json, 'utf8');
    // A replaced `writeHead` may set fields as late as here.
    res.writeHead(res.statusCode);
    if (hasAsciiHead(res)) res.end(json, 'utf8');
    else res.end(Buffer.from(json).toString('latin1'), 'latin1');
  }
}

function hasAsciiHead(res: ServerResponse & { readonly [kLatin1]?: boolean }): boolean {
  if (!isAscii(res.statusMessage)) return false;
  const known = res[kLatin1];
  if (known !== undefined) return !known;
  const fields = res.getHeaders();
  for (const name in fields) {
    const value = fields[name];
    if (typeof value !== 'number' && !isAscii(value)) return false;
  }
  return true;
}

/** Sends bytes in pieces as the client takes them; none is kept. The head goes out behind the caller's turn, however soon the text was there. */
function sendPieces(res: ServerResponse, chunks: Chunks, size: number, failed: (error: unknown) => void): void {
  let left = chunks.length;
  /** True before the first piece, and while the client has not taken the last one. */
  let isWaiting = true;
  const goOn = (): void => {
    if (!isWaiting) return;
    isWaiting = false;
    try {
      if (left === chunks.length) refuseSecond(res);
      if (res.destroyed) return;
      while (left > 0 && !isWaiting) {
        const piece = chunks.take(size);
        left -= piece.length;
        // A replaced `write` may return nothing.
        isWaiting = (res.write(piece) as boolean | undefined) === false && left > 0;
      }
      sendCorked(res);
      if (left === 0) res.end();
    } catch (error) {
      failed(error);
    }
  };
  // Listens once with `on`: a replaced `on` can't take back what `once` adds. A replaced `write` runs in the caller's async context.
  res.on('drain', bindContext(goOn, 'waypost.xJson'));
  setImmediate(goOn);
}

/** @throws Error if the program has sent another response. */
function refuseSecond(res: ServerResponse): void {
  if (res.headersSent) throw new Error('xJson cannot answer: another response was sent while the data was serialized');
}
