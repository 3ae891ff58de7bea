import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeCertificate } from './support/certificate';
import type { Exchange } from '../bench/cases';
import { check } from '../bench/exchange';

const TEXT: Exchange = { method: 'GET', target: '/', headers: {}, status: 200, text: 'page', type: 'text/html' };

/** Answers the page with those fields; what names its tag is answered with `again`. */
function page(fields: Record<string, string>, again = 304): RequestListener {
  return (req, res) => {
    const status = req.headers['if-none-match'] === undefined ? 200 : again;
    res.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', ...(status === 304 ? {} : { 'Content-Length': 4 }), ...fields }).end(status === 304 ? undefined : 'page');
  };
}

describe('the check of what a peer answers', () => {
  let server: Server | undefined;

  async function checked(made: Server, exchange: Exchange): Promise<void> {
    server = made;
    await new Promise<void>((listening) => made.listen(0, '127.0.0.1', listening));
    await check((made.address() as AddressInfo).port, exchange);
  }

  afterEach(async () => {
    server?.closeAllConnections();
    await new Promise((closed) => server?.close(closed));
  });

  test('an ETag is wanted where the exchange says so, and 304 to who names it', async () => {
    await checked(createServer(page({ ETag: '"a"' })), { ...TEXT, tagged: true });
  });

  test.each([
    ['an ETag that nobody asked for', page({ ETag: '"a"' }), TEXT, /there is a field etag$/],
    ['no ETag', page({}), { ...TEXT, tagged: true }, /there is no ETag$/],
    ['an ETag that is not looked at', page({ ETag: '"a"' }, 200), { ...TEXT, tagged: true }, /status 200 with 4 characters instead of 304 to If-None-Match: "a"$/],
    ['another type', page({ 'Content-Type': 'text/plain' }), TEXT, /Content-Type is "text\/plain" instead of text\/html$/],
    ['a field that is missing', page({}), { ...TEXT, present: ['referrer-policy'] }, /there is no field referrer-policy$/],
    ['another value of a field', page({ 'Access-Control-Allow-Origin': 'null' }), { ...TEXT, answered: { 'access-control-allow-origin': '*' } }, /access-control-allow-origin is "null" instead of "\*"$/],
  ])('%s is refused', async (_what, listener, exchange: Exchange, message) => {
    await expect(checked(createServer(listener), exchange)).rejects.toThrow(message);
  });

  test('HTTPS is spoken by the certificate of the exchange, and by no other', async () => {
    const [own, other] = [makeCertificate(), makeCertificate()];
    await checked(createSecureServer(own, page({})), { ...TEXT, ca: own.cert });
    const { port } = server?.address() as AddressInfo;
    // Where another status is wanted no connection is kept, so that this is a new one.
    await expect(check(port, { ...TEXT, ca: other.cert, status: 404 })).rejects.toThrow(/certificate/);
  });
});
