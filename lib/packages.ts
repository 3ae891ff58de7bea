/**
 * Packages, and modules of Node, that a server can start without: each is loaded when it is first needed.
 * Together they take longer to load than a server takes to start.
 */
/* eslint-disable @typescript-eslint/no-require-imports -- an import would load them at once */

/** Loads at the first call and keeps the result: a `require` looks for the file each time. */
function lazy<T>(load: () => T): () => T {
  let loaded: T | undefined;
  return () => (loaded ??= load());
}

/** @internal -- so that no declaration names a package whose types a user would have to add */
export const
  accepts = lazy(() => require('accepts') as typeof import('accepts')),
  bodyParser = lazy(() => require('body-parser') as typeof import('body-parser')),
  contentDisposition = lazy(() => require('content-disposition') as typeof import('content-disposition')),
  contentType = lazy(() => require('content-type') as typeof import('content-type')),
  cookie = lazy(() => require('cookie') as typeof import('cookie')),
  cookieSignature = lazy(() => require('cookie-signature') as typeof import('cookie-signature')),
  encodeUrl = lazy(() => require('encodeurl') as typeof import('encodeurl')),
  etag = lazy(() => require('etag') as typeof import('etag')),
  findMyWay = lazy(() => require('find-my-way') as typeof import('find-my-way')),
  fresh = lazy(() => require('fresh') as typeof import('fresh')),
  lightMyRequest = lazy(() => require('light-my-request') as typeof import('light-my-request')),
  mimeTypes = lazy(() => require('mime-types') as typeof import('mime-types')),
  onFinished = lazy(() => require('on-finished') as typeof import('on-finished')),
  parseurl = lazy(() => require('parseurl') as (req: { url: string }) => { readonly pathname: string | null }),
  pino = lazy(() => require('pino') as typeof import('pino')),
  proxyAddr = lazy(() => require('proxy-addr') as typeof import('proxy-addr')),
  qs = lazy(() => require('qs') as typeof import('qs')),
  rangeParser = lazy(() => require('range-parser') as typeof import('range-parser')),
  safeStableStringify: () => Pick<typeof import('safe-stable-stringify'), 'configure'> = lazy(() => require('safe-stable-stringify') as typeof import('safe-stable-stringify')),
  send = lazy(() => require('send') as typeof import('send')),
  statuses = lazy(() => require('statuses') as typeof import('statuses')),
  structuredHeaders = lazy(() => require('structured-headers') as typeof import('structured-headers')),
  typeIs = lazy(() => require('type-is') as typeof import('type-is')),
  vary = lazy(() => require('vary') as typeof import('vary'));

/** @internal -- so that no declaration names a package whose types a user would have to add */
export const
  crypto = lazy(() => require('node:crypto') as typeof import('node:crypto')),
  https = lazy(() => require('node:https') as typeof import('node:https')),
  zlib = lazy(() => require('node:zlib') as typeof import('node:zlib'));
