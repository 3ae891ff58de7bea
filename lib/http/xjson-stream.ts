import { constants } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { isBodiless, stripContent } from './answer';
import { Chunks } from './chunks';
import { checkXJsonOptions, mergeXJsonOptions, STREAMING_THRESHOLD, XJSON_DEFAULTS, type XJsonOptions } from '../xjson/options';
import { isAscii } from './node/header-fields';
import { type ConfiguredResponse, kAnswering, kLatin1 } from './response-state';
import { type FailureReport, messageOf, sendFailure, stackOf } from './serialization-failure';
import { StreamedBody } from './streamed-body';
import { Serializer } from '../xjson/serializer';
import { workInSlices } from './slices';
import { unsendable } from './unsendable';

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
      if (res.headersSent) throw new Error('xJson cannot answer: another response was sent while the data was serialized');
      if (!res.destroyed) {
        if (!serializer.run(until)) return false;
        sendJson(res, serializer.text ?? chunks, options, (error) => sendFailure(res, error, report));
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
 * @param failed Called with an error that no caller can catch, once the head is out.
 */
function sendJson(res: ServerResponse, json: string | Chunks, { enableStreaming, chunkSize }: XJsonOptions, failed: (error: unknown) => void): void {
  if (stripContent(res)) {
    res.removeHeader('Content-Type');
    res.end();
    return;
  }
  const length = typeof json === 'string' ? Buffer.byteLength(json) : json.length;
  res.setHeader('Content-Type', 'application/json');
  // The two must not stand together (RFC 9112 section 6.2). To remove one that is not there would keep Node from sending
  // chunks where compression takes the length away.
  if (res.hasHeader('Transfer-Encoding')) res.removeHeader('Transfer-Encoding');
  res.setHeader('Content-Length', length);
  if (isBodiless(res)) res.end();
  else if (length > STREAMING_THRESHOLD && (enableStreaming !== false || length > constants.MAX_LENGTH)) {
    new StreamedBody(res as ConfiguredResponse, piecesOf(typeof json === 'string' ? chunked(json) : json, chunkSize ?? XJSON_DEFAULTS.chunkSize), failed).start();
  } else if (typeof json !== 'string') res.end(json.take(length));
  else endWith(res, json, length);
}

/**
 * Node writes a string with the head, both in one encoding, and a buffer
 * separately. The head's fields are read as Latin-1, so UTF-8 is only for fields
 * of ASCII. A replaced `end` gets the buffer: it may overlook the encoding.
 */
function endWith(res: ServerResponse, json: string, length: number): void {
  if (length > STREAMING_THRESHOLD || Object.hasOwn(res, 'end')) res.end(Buffer.from(json));
  else if (length === json.length) res.end(json, 'latin1');
  else {
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

function chunked(json: string): Chunks {
  const chunks = new Chunks(true);
  chunks.add(json);
  return chunks;
}

/** Bytes as a stream of pieces, none of which is kept. */
function piecesOf(chunks: Chunks, size: number): Readable {
  let left = chunks.length;
  return new Readable({
    highWaterMark: 1,
    read(): void {
      const piece = left === 0 ? null : chunks.take(size);
      left -= piece?.length ?? 0;
      this.push(piece);
    },
  });
}
