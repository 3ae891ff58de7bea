import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { Answer, type Question } from './wire';

/** Fields of the connection, which HTTP/2 has none of (RFC 9113 section 8.2.2). */
const OF_CONNECTIONS = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'];

/** Methods of which a request has a body, if an empty one, as the client of HTTP/1.1 sends it. */
const WITH_BODIES = ['PATCH', 'POST', 'PUT'];

/** Opens a session of HTTP/2 without TLS. */
export async function openSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  await once(session, 'connect');
  return session;
}

/** Sends one request on a session. */
export async function askOn(session: ClientHttp2Session, path: string, { method = 'GET', headers = {}, body }: Question = {}): Promise<Answer> {
  const sent = Object.entries(headers as OutgoingHttpHeaders).filter(([name]) => !OF_CONNECTIONS.includes(name.toLowerCase()) && name.toLowerCase() !== 'host');
  // The client of HTTP/1.1 writes a head with a body of text as UTF-8.
  if (typeof body === 'string') for (const field of sent) field[1] = Buffer.from(String(field[1])).toString('latin1');
  const { host } = headers as { host?: string };
  const stream = session.request({ ':method': method, ':path': path, ...(host === undefined ? {} : { ':authority': host }), ...Object.fromEntries(sent) }, { endStream: body === undefined && !WITH_BODIES.includes(method) });
  if (!stream.writableEnded) stream.end(body);
  // From the start: what nobody reads is lost where the session ends behind it.
  const received = buffer(stream);
  const [{ ':status': status, ...fields }] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
  const bytes = await received;
  if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) throw new Error(`the stream was reset by ${stream.rstCode}`);
  return new Answer(status ?? 0, fields, bytes);
}

/** As `ask`, by HTTP/2 without TLS. */
export async function askHttp2(port: number, path: string, question: Question = {}): Promise<Answer> {
  const session = await openSession(port);
  try {
    return await askOn(session, path, question);
  } finally {
    session.destroy();
  }
}

/** Fields that are the same over both protocols. */
export function withoutConnection<T>(headers: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTIONS.includes(name)));
}
