import { Agent, request, type IncomingMessage } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { Exchange } from './cases';

/** What a peer answered. */
interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
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
  const wrong = difference(answer, exchange);
  if (wrong !== undefined) throw new Error(`${exchange.method} ${exchange.target}: ${wrong}`);
}

/** What the load is answered by that port, but for what Node adds to every answer by itself. */
export async function record(port: number, exchange: Exchange): Promise<Pick<Answer, 'status' | 'fields' | 'body'>> {
  const { status, fields, body } = await send(port, exchange);
  const own = fields.filter((_, i) => !/^(?:date|connection|keep-alive)$/i.test(fields[i & ~1] as string));
  return { status, fields: own, body };
}

/** What the load is answered. Of other answers some close the connection, as they may. */
function isMeasured(status: number): boolean {
  return status === 200 || status === 404;
}

/** Keeps connections, so that peers must say that they do. */
const KEPT = new Agent({ keepAlive: true });

function send(port: number, { method, target, headers, body, announced, status }: Exchange): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = announced ?? (body === undefined ? undefined : Buffer.byteLength(body));
    const all = length === undefined ? headers : { ...headers, 'content-length': length };
    const sent = request({ host: '127.0.0.1', port, method, path: target, headers: all, agent: isMeasured(status) ? KEPT : false }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        resolve({ status: res.statusCode ?? 0, headers: res.headers, fields: res.rawHeaders, body: Buffer.concat(chunks).toString() });
        if (announced !== undefined) sent.destroy();
      });
    });
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
  if (headers.date === undefined) return 'there is no Date';
  if (isMeasured(status) && headers['content-length'] !== String(Buffer.byteLength(body))) return `Content-Length is ${JSON.stringify(headers['content-length'])}, the body has ${Buffer.byteLength(body)} bytes`;
  // What only some send would be work that the others save.
  for (const name of ['etag', 'x-powered-by', 'set-cookie']) if (headers[name] !== undefined) return `there is a field ${name}`;
  if (isMeasured(status) && headers.connection !== 'keep-alive') return `Connection is ${JSON.stringify(headers.connection)}`;
  if (wanted.text !== undefined) return body === wanted.text ? typed(headers, 'text/plain') : 'another body than the file';
  if (wanted.json === undefined) return undefined;
  const untyped = typed(headers, 'application/json');
  if (untyped !== undefined) return untyped;
  return isDeepStrictEqual(JSON.parse(body), wanted.json) ? undefined : `another body: ${body.slice(0, 200)}`;
}

function typed(headers: Answer['headers'], type: string): string | undefined {
  const given = headers['content-type'];
  return given?.split(';')[0] === type ? undefined : `Content-Type is ${JSON.stringify(given)} instead of ${type}`;
}
