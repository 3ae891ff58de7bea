/**
 * Packages, and modules of Node, that a server can start without: each is loaded when it is first needed.
 * Together they take longer to load than a server takes to start.
 */
/* eslint-disable @typescript-eslint/no-require-imports -- an import would load them at once */

/** What is made when it is first asked for, and kept: a `require` looks for the file each time. */
function late<T>(load: () => T): () => T {
  let loaded: T | undefined;
  return () => (loaded ??= load());
}

export const accepts = late(() => require('accepts') as typeof import('accepts'));
export const bodyParser = late(() => require('body-parser') as typeof import('body-parser'));
export const contentDisposition = late(() => require('content-disposition') as typeof import('content-disposition'));
export const contentType = late(() => require('content-type') as typeof import('content-type'));
export const cookie = late(() => require('cookie') as typeof import('cookie'));
export const cookieSignature = late(() => require('cookie-signature') as typeof import('cookie-signature'));
export const encodeUrl = late(() => require('encodeurl') as typeof import('encodeurl'));
export const etag = late(() => require('etag') as typeof import('etag'));
export const fastQuerystring = late(() => require('fast-querystring') as typeof import('fast-querystring'));
export const findMyWay = late(() => require('find-my-way') as typeof import('find-my-way'));
export const fresh = late(() => require('fresh') as typeof import('fresh'));
export const lightMyRequest = late(() => require('light-my-request') as typeof import('light-my-request'));
export const mimeTypes = late(() => require('mime-types') as typeof import('mime-types'));
export const onFinished = late(() => require('on-finished') as typeof import('on-finished'));
export const pino = late(() => require('pino') as typeof import('pino'));
export const proxyAddr = late(() => require('proxy-addr') as typeof import('proxy-addr'));
export const qs = late(() => require('qs') as typeof import('qs'));
export const rangeParser = late(() => require('range-parser') as typeof import('range-parser'));
export const configureStringify: () => typeof import('safe-stable-stringify').configure = late(() => (require('safe-stable-stringify') as typeof import('safe-stable-stringify')).configure);
export const send = late(() => require('send') as typeof import('send'));
export const serveStatic = late(() => require('serve-static') as typeof import('serve-static'));
export const statuses = late(() => require('statuses') as typeof import('statuses'));
export const structuredHeaders = late(() => require('structured-headers') as typeof import('structured-headers'));
export const typeIs = late(() => require('type-is') as typeof import('type-is'));
export const vary = late(() => require('vary') as typeof import('vary'));

export const crypto = late(() => require('node:crypto') as typeof import('node:crypto'));
export const https = late(() => require('node:https') as typeof import('node:https'));
export const zlib = late(() => require('node:zlib') as typeof import('node:zlib'));
