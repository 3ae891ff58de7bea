import type { ServerResponse } from 'node:http';
import type { ErrorFormat } from '../errors';
import type { SafeLog } from '../log/safe-log';
import type { EntityTag } from './etag';
import { type HostApplication, NO_APPLICATION } from './host-application';
import type { JsonWriter } from './json-writer';
import type { KnownFiles } from './file/known-files';

/** Settings of a response's application; on the prototype, one for all of an application's responses. */
export const kSettings = Symbol('waypost.response.settings');
/** True where `res.json` acts as `res.xJson`: for a request whose path ended in `.xJson` (INTERFACE section 4.3). */
export const kJsonAsXJson = Symbol('waypost.response.jsonAsXJson');
/** True for an application while it drains. */
export const kClosing = Symbol('waypost.application.closing');
/** Called with an error of making a response that no caller can catch. */
export const kFail = Symbol('waypost.response.fail');
/** Returns a function that reports an error later. */
export const kFailing = Symbol('waypost.response.failing');
/** The class's own methods: where a response's are others, somebody has replaced them. */
export const kOwn = Symbol('waypost.response.own');
/** Signs a response that ends with that chunk, by its application's key. */
export const kSign = Symbol('waypost.response.sign');
/** True once a field is set that is not of ASCII alone. */
export const kLatin1 = Symbol('waypost.response.latin1');

/** True from the call of `xJson` on: what goes wrong after it must not take the response from it. */
export const kAnswering = Symbol('waypost.response.answering');

/** Methods that middleware replaces to hear of a body. */
export type OwnMethods = Readonly<Pick<ServerResponse, 'end' | 'write'>>;

/** Settings that an application gives its responses. */
export interface ResponseSettings {
  /** Has failures go on as in Express: data that `json` can't write to error middleware, and a directory given to `sendFile` to the handlers below. @default false */
  readonly asExpress?: boolean;
  /** Shows clients the inside of an error. */
  readonly development: boolean;
  /** Form of default error answers. @default JSON with `error` and `message` */
  readonly errors?: ErrorFormat | undefined;
  /** Makes the ETag of a body; without it no ETag is made. */
  readonly etag: EntityTag | undefined;
  /** Gives files an ETag, unless `sendFile` is told otherwise. @default true */
  readonly fileEtag?: boolean;
  /** How `json` and `jsonp` write; without it as JSON.stringify does. */
  readonly stringify?: JsonWriter | undefined;
  /** Name of the query parameter that asks `jsonp` for a call. @default 'callback' */
  readonly jsonpCallback?: string;
  /** Told of what goes wrong. */
  readonly logger: Pick<SafeLog, 'error' | 'info' | 'warn'>;
  /** Cache of files for all of an application's responses. @default none: each finds out for itself */
  readonly files?: KnownFiles;
  /** The application that `res.app` is. */
  readonly app: HostApplication;
}

/** A response that knows what its application was told. */
export interface ConfiguredResponse extends ServerResponse {
  readonly [kOwn]: OwnMethods;
  readonly [kSettings]: ResponseSettings;
  readonly [kAnswering]: boolean;
  readonly [kLatin1]: boolean;
  readonly [kSign]?: (chunk: unknown, encoding: unknown) => void;
}

/** Settings of a response that belongs to no application: nothing shown, nothing logged. */
export const DEFAULT_SETTINGS: ResponseSettings = Object.freeze({
  development: false,
  etag: undefined,
  logger: Object.freeze({ error: ignore, info: ignore, warn: ignore }),
  app: NO_APPLICATION,
});

/** Settings of a response, which another framework may have put its own prototype on. */
export function settingsOf(res: ServerResponse & Partial<ConfiguredResponse>): ResponseSettings {
  return res[kSettings] ?? DEFAULT_SETTINGS;
}

function ignore(): void {
  // Nobody listens.
}
