import type { IncomingMessage, ServerResponse } from 'node:http';
import { isFresh } from './etag';
import { firstAnswerOf } from './first-answer';
import { requestOf } from './logged-request';
import { fieldsOf, isAscii } from './node/header-fields';
import { forgetHead, sendsBody } from './node/head-marks';
import { kOriginalMethod } from './request-state';
import { type ConfiguredResponse, kLatin1, kOwn, type ResponseSettings, settingsOf } from './response-state';
import { hintForFailure } from '../hints';

/** Longest text, in UTF-16 units, that Node is given as text: it takes three bytes of memory for each while it writes. */
const LONGEST_TEXT = 65_536;

/** Listener that reports a write after the response's end. */
const kLateWrite = Symbol('waypost.response.lateWrite');

/**
 * Ends a response with a whole body: type, length, ETag and 304 where they
 * apply, and no body where RFC 9110 has none. It calls the response's own
 * `setHeader` and `end`, so that middleware which replaced them sees it all.
 */
export function finish<R extends ConfiguredResponse>(res: R, body: string | Buffer | undefined, type: string | undefined): R {
  // Text goes out in one piece with the head, both as UTF-8: as bytes the head is Latin-1, which its fields are read as.
  if (typeof body === 'string' && (body.length > LONGEST_TEXT || (res as Partial<ConfiguredResponse>)[kLatin1] !== false || (res.statusMessage && !isAscii(res.statusMessage)))) body = Buffer.from(body);
  const fields = fieldsOf(res);
  const { etag } = settingsOf(res);
  // As Express has it, an empty one is none.
  const tagged = fields !== null && 'etag' in fields && Boolean(res.getHeader('ETag'));
  let validator = tagged || (fields !== null && 'last-modified' in fields);
  const framed = fields !== null && 'transfer-encoding' in fields && Boolean(res.getHeader('Transfer-Encoding'));
  if (type !== undefined) res.setHeader('Content-Type', type);
  if (body !== undefined) {
    // The two must not stand together (RFC 9112 section 6.2).
    if (!framed) {
      // Text, as Express has it: middleware reads it, and some of it logs it.
      res.setHeader('Content-Length', String(typeof body === 'string' ? Buffer.byteLength(body) : body.length));
    }
    if (etag !== undefined && !tagged) {
      const tag = etag(body);
      if (tag) res.setHeader('ETag', tag);
      validator ||= Boolean(tag);
    }
  }
  if (validator && isStillGood(res)) res.statusCode = 304;
  const isStripped = stripContent(res);
  if (isStripped && !isBodiless(res)) res.end('', 'utf8');
  else endWith(res, isStripped ? undefined : body);
  return res;
}

/** As in Express the request is asked, whose `fresh` a program may have replaced; one without its request, or of another class, has none. */
function isStillGood(res: ConfiguredResponse): boolean {
  const { req } = res as { req?: { res?: unknown; fresh?: boolean } };
  return (req?.res === res ? req.fresh : undefined) ?? isFresh(res);
}

/** Ends a response with the body, or without it where the request is HEAD. */
function endWith(res: ConfiguredResponse, body: string | Buffer | undefined): void {
  if (body === undefined || isBodiless(res)) res.end();
  // As in Express: loggers that replace `end` join its chunks as buffers.
  else if (typeof body === 'string' && res.end !== (res as Partial<ConfiguredResponse>)[kOwn]?.end) res.end(Buffer.from(body));
  else res.end(body, 'utf8');
}

/** Takes from a response whose length is told what may not stand beside that: a transfer coding, and trailers, for which Node throws (RFC 9110 section 6.5, RFC 9112 section 6.2). */
export function forgetFraming(res: ServerResponse): void {
  // Only if set: removing an absent one keeps Node from chunking where compression removes the length.
  if (res.hasHeader('Transfer-Encoding')) res.removeHeader('Transfer-Encoding');
  if (res.hasHeader('Trailer')) res.removeHeader('Trailer');
}

/** Removes the length of a body that is not sent: another body goes out instead. */
export function forgetLength(res: ServerResponse): void {
  // Only if set: removing an absent one keeps Node from working out the other body's length.
  if (!res.headersSent && res.hasHeader('Content-Length')) res.removeHeader('Content-Length');
}

/** Removes content fields from a 204, 205 or 304 response; returns false for other statuses (RFC 9110 sections 8.6, 15.3.5, 15.3.6 and 15.4.5). */
export function stripContent(res: ServerResponse): boolean {
  const { statusCode } = res;
  if (statusCode !== 204 && statusCode !== 205 && statusCode !== 304) return false;
  res.removeHeader('Transfer-Encoding');
  if (statusCode === 205) {
    // There it must be said.
    res.setHeader('Content-Length', '0');
  } else {
    res.removeHeader('Content-Type');
    res.removeHeader('Content-Length');
  }
  return true;
}

/**
 * Logs bytes written after the end, unless the program listens for the error.
 * Without a listener Node's `error` event would end the process.
 */
export function hearLateWrite(res: ConfiguredResponse & { [kLateWrite]?: (error: Error) => void }): void {
  // The settings are taken at once: by the time it is raised, another framework may have put its own prototype on.
  const report = (res[kLateWrite] ??= reportLateWrite.bind(undefined, res, settingsOf(res)));
  if (!res.listeners('error').includes(report)) res.on('error', report);
  // Node raises nothing on a closed response.
  if (res.destroyed) report(Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' }));
}

function reportLateWrite(this: void, res: ConfiguredResponse, { logger }: ResponseSettings, error: Error): void {
  if (res.listenerCount('error') > 1) return;
  logger.error({ err: error, ...requestOf(res), ...hintForFailure(error, firstAnswerOf(res)) }, 'Data was written after the response had ended');
}

/**
 * True if the answer is to a HEAD request. If middleware only changed the method,
 * the client waits for the body, and Node means to send it.
 */
export function isBodiless(res: ServerResponse): boolean {
  return (res.req as ServerResponse['req'] | undefined)?.method === 'HEAD' && !sendsBody(res);
}

/** Makes a response ready for error middleware, after a head that Node refused. Its answer would announce a body that Node leaves out: the client would take the next answer for it. */
export function forgetRefusedHead(res: ConfiguredResponse): void {
  if (!res.headersSent && !isHead(res)) forgetHead(res);
}

/** True if the client asked by HEAD: middleware may have changed the method since. */
export function isHead(res: ConfiguredResponse): boolean {
  const { req } = res as { req?: IncomingMessage & { [kOriginalMethod]?: string | undefined } };
  return (req?.[kOriginalMethod] ?? req?.method) === 'HEAD';
}

/** Answers OPTIONS by Node's methods alone, as Express does. Returns what `end` returns: a replaced one may be asynchronous. */
export function answerOptions(res: ServerResponse, methods: ReadonlySet<string>): unknown {
  const allow = [...methods].sort().join(', ');
  forgetFraming(res);
  res.setHeader('Allow', allow);
  res.setHeader('Content-Length', Buffer.byteLength(allow));
  res.setHeader('Content-Type', 'text/plain');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  return res.end(allow);
}
