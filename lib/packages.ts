/**
 * Packages, and modules of Node, that a server can start without: each is loaded when it is first needed.
 * Together they take longer to load than a server takes to start.
 */
/* eslint-disable @typescript-eslint/no-require-imports -- an import would load them at once */
import type { ServerResponse } from 'node:http';

/** Makes a value when it is first asked for, and keeps it. A file that is required by it alone becomes one of its own in dist. */
export function late<T>(load: () => T): () => T {
  let loaded: T | undefined;
  return () => (loaded ??= load());
}

/** @internal -- so that no declaration names a package whose types a user would have to add */
export const
  accepts = late(() => require('accepts') as typeof import('accepts')),
  bodyParser = late(() => require('body-parser') as typeof import('body-parser')),
  contentDisposition = late(() => require('content-disposition') as typeof import('content-disposition')),
  contentType = late(() => require('content-type') as typeof import('content-type')),
  cookie = late(() => require('cookie') as typeof import('cookie')),
  cookieSignature = late(() => require('cookie-signature') as typeof import('cookie-signature')),
  encodeUrl = late(() => require('encodeurl') as typeof import('encodeurl')),
  etag = late(() => require('etag') as typeof import('etag')),
  findMyWay = late(() => require('find-my-way') as typeof import('find-my-way')),
  fresh = late(() => require('fresh') as typeof import('fresh')),
  lightMyRequest = late(() => require('light-my-request') as typeof import('light-my-request')),
  mimeTypes = late(() => require('mime-types') as typeof import('mime-types')),
  onFinished = late(() => require('on-finished') as typeof import('on-finished')),
  onHeaders = late(() => require('on-headers') as (res: ServerResponse, listener: (this: ServerResponse) => void) => void),
  parseurl = late(() => require('parseurl') as (req: { url: string }) => { readonly pathname: string | null }),
  pino = late(() => require('pino') as typeof import('pino')),
  proxyAddr = late(() => require('proxy-addr') as typeof import('proxy-addr')),
  qs = late(() => require('qs') as typeof import('qs')),
  rangeParser = late(() => require('range-parser') as typeof import('range-parser')),
  safeStableStringify: () => Pick<typeof import('safe-stable-stringify'), 'configure'> = late(() => require('safe-stable-stringify') as typeof import('safe-stable-stringify')),
  send = late(() => require('send') as typeof import('send')),
  statuses = late(() => require('statuses') as typeof import('statuses')),
  structuredHeaders = late(() => require('structured-headers') as typeof import('structured-headers')),
  typeIs = late(() => require('type-is') as typeof import('type-is')),
  vary = late(() => require('vary') as typeof import('vary'));

/** @internal -- so that no declaration names a package whose types a user would have to add */
export const
  crypto = late(() => require('node:crypto') as typeof import('node:crypto')),
  https = late(() => require('node:https') as typeof import('node:https')),
  zlib = late(() => require('node:zlib') as typeof import('node:zlib'));
