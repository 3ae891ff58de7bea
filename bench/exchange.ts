import * as http from 'node:http';
import * as https from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import type { Exchange } from './cases';

/** What a peer answered. */
interface Answer {
  readonly status: number;
  readonly headers: http.IncomingMessage['headers'];
  /** Names and values in turn, as sent. */
  readonly fields: readonly string[];
  readonly body: string;
}

/**
 * Sends the request and compares the answer.
 * @throws Error that says what was answered and what should have been.
 */
export async function check(port: number, exchange: Exchange): Promise<void> {
  const answer = await send(port, exchange);
  const wrong = difference(answer, exchange) ?? (exchange.tagged === true ? await revalidation(port, exchange, answer) : undefined);
  if (wrong !== undefined) throw new Error(`${exchange.method} ${exchange.target}: ${wrong}`);
}

/** The request as it stands on the wire. */
export function wireText(port: number, { method, target, headers, body }: Exchange): string {
  const fields = { host: `127.0.0.1:${port}`, ...headers, ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }) };
  return `${method} ${target} HTTP/1.1\r\n${Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body ?? ''}`;
}

/** What is wrong with the answer to a client that has already what the tag names. */
async function revalidation(port: number, exchange: Exchange, { headers: { etag } }: Answer): Promise<string | undefined> {
  if (etag === undefined) return 'there is no ETag';
  const { status, headers, body } = await send(port, { ...exchange, headers: { ...exchange.headers, 'if-none-match': etag }, status: 304 });
  if (status !== 304 || body !== '') return `status ${status} with ${body.length} characters instead of 304 to If-None-Match: ${etag}`;
  return headers.etag === etag ? undefined : `ETag of 304 is ${JSON.stringify(headers.etag)} instead of ${etag}`;
}

/** What the load is answered by that port, but for what Node adds to every answer by itself; and whether by HTTPS. */
export async function record(port: number, exchange: Exchange): Promise<Pick<Answer, 'status' | 'fields' | 'body'> & { readonly secure: boolean }> {
  const { status, fields, body } = await send(port, exchange);
  const own = fields.filter((_, i) => !/^(?:date|connection|keep-alive)$/i.test(fields[i & ~1] as string));
  return { secure: exchange.ca !== undefined, status, fields: own, body };
}

/** What the load is answered. Of other answers some close the connection, as they may. */
function isMeasured(status: number): boolean {
  return status === 200 || status === 404;
}

/** Keeps connections, so that peers must say that they do. */
const KEPT = new http.Agent({ keepAlive: true });
const KEPT_SECURE = new https.Agent({ keepAlive: true });

function send(port: number, { method, target, headers, body, announced, status, ca }: Exchange): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = announced ?? (body === undefined ? undefined : Buffer.byteLength(body));
    const all = length === undefined ? headers : { ...headers, 'content-length': length };
    const options = { host: '127.0.0.1', port, method, path: target, headers: all };
    const receive = (res: http.IncomingMessage): void => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        resolve({ status: res.statusCode ?? 0, headers: res.headers, fields: res.rawHeaders, body: Buffer.concat(chunks).toString() });
        if (announced !== undefined) sent.destroy();
      });
    };
    const sent = ca === undefined
      ? http.request({ ...options, agent: isMeasured(status) && KEPT }, receive)
      : https.request({ ...options, ca, agent: isMeasured(status) && KEPT_SECURE }, receive);
    sent.on('error', reject);
    sent.setTimeout(10_000, () => sent.destroy(new Error(`${method} ${target} was not answered within 10 s`)));
    if (announced === undefined) {
      sent.end(body);
      return;
    }
    // Some refuse by the header and close; others wait for all of the body.
    sent.flushHeaders();
    const rest = setTimeout(() => sent.end(Buffer.alloc(announced)), 300);
    sent.once('response', () => clearTimeout(rest));
  });
}

function difference({ status, headers, body }: Answer, wanted: Exchange): string | undefined {
  if (status !== wanted.status) return `status ${status} instead of ${wanted.status}, with ${body.slice(0, 200)}`;
  for (const [name, value] of Object.entries(wanted.answered ?? {})) {
    if (headers[name] !== value) return `${name} is ${JSON.stringify(headers[name])} instead of ${JSON.stringify(value)}`;
  }
  for (const name of wanted.present ?? []) if (headers[name] === undefined) return `there is no field ${name}`;
  if (headers.date === undefined) return 'there is no Date';
  if (isMeasured(status) && headers['content-length'] !== String(Buffer.byteLength(body))) return `Content-Length is ${JSON.stringify(headers['content-length'])}, the body has ${Buffer.byteLength(body)} bytes`;
  // What only some send would be work that the others save.
  for (const name of ['x-powered-by', 'set-cookie', ...(wanted.tagged === true ? [] : ['etag'])]) if (headers[name] !== undefined) return `there is a field ${name}`;
  if (isMeasured(status) && headers.connection !== 'keep-alive') return `Connection is ${JSON.stringify(headers.connection)}`;
  if (wanted.text !== undefined) return body === wanted.text ? typed(headers, wanted.type ?? 'text/plain') : 'another body than the text';
  if (wanted.json === undefined) return undefined;
  const untyped = typed(headers, 'application/json');
  if (untyped !== undefined) return untyped;
  return isDeepStrictEqual(JSON.parse(body), wanted.json) ? undefined : `another body: ${body.slice(0, 200)}`;
}

function typed(headers: Answer['headers'], type: string): string | undefined {
  const given = headers['content-type'];
  return given?.split(';')[0] === type ? undefined : `Content-Type is ${JSON.stringify(given)} instead of ${type}`;
}
