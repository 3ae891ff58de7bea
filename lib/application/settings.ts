import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { bindContext } from '../async-context';
import { assign } from '../http/assignable';
import { type EntityTag, strongEntityTag, weakEntityTag } from '../http/etag';
import { type JsonReplacer, jsonWriter } from '../http/json-writer';
import { parseQuery } from '../http/query';
import type { QueryParser, RequestSettings } from '../http/request-state';
import type { ResponseSettings } from '../http/response-state';
import { resolveOptions } from '../options/resolve';
import type { TrustFunction, TrustProxy } from '../options/options';
import type { ResolvedOptions } from '../options/resolved';
import { late, qs } from '../packages';
import type { ViewClass } from './views';

const
  knownFiles = late(() => require('../http/file/known-files') as typeof import('../http/file/known-files')),
  view = late(() => require('./view') as typeof import('./view'));

/** Settings with an effect, by Express's names. Any other name may be set for the program's own use. */
export interface KnownSettings {
  /** Lets an absolute name of a view lead out of the directories in `views`. @default false, in `express()` true */
  'absolute views': boolean | undefined;
  /** Makes `/A` and `/a` two paths. In `express()` it must be set before the first path is registered. Can't be changed where request signatures are checked. @default `routing.caseSensitive` */
  'case sensitive routing': boolean | undefined;
  /** Name of the environment; in `development` error details reach a client. @default `env` */
  env: string;
  /** ETag on responses of `send`, `json` and their kin, or a function of the body. @default `etag` */
  etag: boolean | 'weak' | 'strong' | ((body: Buffer) => string | undefined);
  /** The function made of `etag`; undefined for none. */
  'etag fn': ((body: Buffer) => string | undefined) | undefined;
  /** Escapes `<`, `>` and `&` in `res.json`. @default undefined: as they are */
  'json escape': boolean | undefined;
  /** Second argument of `JSON.stringify` in `res.json`. @default undefined: none */
  'json replacer': JsonReplacer | undefined;
  /** Third argument of `JSON.stringify` in `res.json`: a number of spaces, or the text to indent by. @default undefined: none */
  'json spaces': number | string | undefined;
  /** Name of the query parameter that names the function which `res.jsonp` calls. @default 'callback' */
  'jsonp callback name': string;
  /** Parser of `req.query`: flat, with brackets (the package qs), none, or a function of the text after the `?`. @default 'simple' */
  'query parser': boolean | 'simple' | 'extended' | QueryParser;
  /** The function made of `query parser`; undefined for none. */
  'query parser fn': QueryParser | undefined;
  /** Makes `/a/` and `/a` two paths. In `express()` as `case sensitive routing`. Can't be changed where request signatures are checked. @default not `routing.ignoreTrailingSlash` */
  'strict routing': boolean | undefined;
  /** Number of host name labels that are no subdomain. @default 2 */
  'subdomain offset': number;
  /** Proxies whose `X-Forwarded-*` headers are trusted; a mounted application without its own takes its parent's. @default `server.trustProxy` */
  'trust proxy': TrustProxy | undefined;
  /** The function made of `trust proxy`. */
  'trust proxy fn': TrustFunction;
  /** Class of views. @default waypost's own */
  view: ViewClass;
  /** Caches looked-up views, and tells engines to cache compiled templates. @default true where `env` is `production`, else undefined */
  'view cache': boolean | undefined;
  /** Extension of views whose names have none. @default undefined: none */
  'view engine': string | undefined;
  /** The directory of views, or several. @default 'views' in the directory that the program was started in */
  views: string | readonly string[];
  /** No effect: the header is never sent. @default false */
  'x-powered-by': boolean | undefined;
}

/** Environments that show error details in `express()`, since tests read them. Express shows them in all but `production`. */
const DETAILED_ENVIRONMENTS: readonly string[] = ['development', 'test'];

/** The owner of settings. */
export interface SettingsHost {
  /** @throws TypeError for a value that this owner can't have. */
  validate(name: string | symbol, value: unknown): void;
  /** Called with a written name; null for any. */
  changed(name: string | symbol | null): void;
}

/** Settings as read by requests and responses: one object on their prototypes, changed in place. */
export type SharedSettings = RequestSettings & ResponseSettings;

/** Values derived from the changeable settings. */
type DerivedSettings = Omit<SharedSettings, 'app' | 'asExpress' | 'discardLimit' | 'errors' | 'files' | 'logger'>;

/**
 * The settings of one application, by name. Values for requests are derived
 * when a setting changes, never per request.
 */
export class Settings {
  /** Values as set; the parent's are the prototype. */
  readonly values: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  /** A writable view for the program: as in Express, written values are not processed. */
  readonly exposed: Record<string, unknown>;
  readonly shared: SharedSettings;
  readonly #children = new Set<Settings>();
  /** True while `trust proxy` is the default, which a parent's replaces. */
  #trustsByDefault: boolean;
  /** True if an outer application is Express's, which does not report changes. */
  #derivesOnRead = false;
  /** True once `etag` was set. */
  #setsEtag = false;
  readonly #detailedEnvironments: readonly string[];
  readonly #host: SettingsHost;

  /** @param fixed Values that no setting changes. @param asExpress True for Express's defaults instead of those of `createServer`. */
  constructor({ env, etag, routing, server }: ResolvedOptions, fixed: Pick<SharedSettings, 'app' | 'discardLimit' | 'errors' | 'logger'>, asExpress: boolean, host: SettingsHost) {
    this.#host = host;
    this.exposed = this.#expose();
    this.#detailedEnvironments = asExpress ? DETAILED_ENVIRONMENTS : ['development'];
    this.#trustsByDefault = server.trustsByDefault;
    Object.assign(this.values, {
      env,
      etag,
      'etag fn': compileETag(etag),
      'jsonp callback name': 'callback',
      'query parser': 'simple',
      'query parser fn': parseQuery,
      'subdomain offset': 2,
      'trust proxy': server.trustProxy,
      'trust proxy fn': server.trusts,
      views: resolve('views'),
      'x-powered-by': false,
    });
    // A package looks for a class, which is loaded then.
    Object.defineProperty(this.values, 'view', { get: () => view().View, set(this: object, given: unknown) { assign(this, 'view', given); }, enumerable: true, configurable: true });
    if (env === 'production') this.values['view cache'] = true;
    // As in Express a parent decides on unset settings.
    if (!asExpress || routing.caseSensitive) this.values['case sensitive routing'] = routing.caseSensitive;
    if (!asExpress || !routing.ignoreTrailingSlash) this.values['strict routing'] = !routing.ignoreTrailingSlash;
    // Its timers would keep alive what the first request has in its own context.
    const files = late(bindContext(() => new (knownFiles().KnownFiles)(), 'waypost.files'));
    this.shared = { ...fixed, asExpress, get files() { return files(); }, ...this.#derive() };
  }

  /** @throws TypeError for an invalid value, before any change. */
  set(name: string, value: unknown): void {
    if (name === 'subdomain offset' && !(Number.isInteger(value) && Number(value) >= 0)) {
      throw new TypeError(`The setting "subdomain offset" must be an integer, 0 or more, got ${inspect(value)}`);
    }
    const compile = COMPILERS.get(name);
    const compiled = compile?.(value);
    this.#host.validate(name, value);
    if (compile !== undefined) this.values[`${name} fn`] = compiled;
    if (name === 'trust proxy') this.#trustsByDefault = false;
    this.values[name] = value;
    this.#changed(name);
  }

  #expose(): Record<string, unknown> {
    const notify = (name: string | symbol | null, isChanged: boolean): boolean => {
      if (isChanged) this.#changed(name);
      return isChanged;
    };
    return new Proxy(this.values, {
      defineProperty: (values, name, descriptor) => {
        this.#host.validate(name, 'value' in descriptor ? descriptor.value : values[name as string]);
        return notify(name, Reflect.defineProperty(values, name, descriptor));
      },
      deleteProperty: (values, name) => {
        this.#host.validate(name, undefined);
        return notify(name, Reflect.deleteProperty(values, name));
      },
      setPrototypeOf: (values, prototype) => notify(null, Reflect.setPrototypeOf(values, prototype)),
    });
  }

  #changed(name: string | symbol | null): void {
    if (name === 'etag') this.#setsEtag = true;
    this.#update();
    this.#host.changed(name);
  }

  /** Inherits a parent's settings for all unset ones, from now on. */
  inherit(parent: Settings): void {
    parent.#children.add(this);
    if (this.#trustsByDefault) this.#deleteTrust();
    Object.setPrototypeOf(this.values, parent.values);
    if (parent.#derivesOnRead) this.#deriveOnRead();
    else this.#update();
  }

  /** The same for an application of Express. It does not report changes, so its settings are read at each use. */
  inheritForeign(values: object): void {
    if (this.#trustsByDefault && typeof (values as Record<string, unknown>)['trust proxy fn'] === 'function') this.#deleteTrust();
    Object.setPrototypeOf(this.values, values);
    this.#deriveOnRead();
  }

  #deleteTrust(): void {
    delete this.values['trust proxy'];
    delete this.values['trust proxy fn'];
  }

  #deriveOnRead(): void {
    this.#derivesOnRead = true;
    for (const name of Object.keys(this.#derive()) as (keyof DerivedSettings)[]) {
      Object.defineProperty(this.shared, name, { get: () => this.#derive()[name], enumerable: true, configurable: true });
    }
    for (const child of this.#children) child.#deriveOnRead();
  }

  /** Updates the shared settings, here and in mounted applications. */
  #update(): void {
    if (this.#derivesOnRead) return;
    Object.assign(this.shared, this.#derive());
    for (const child of this.#children) child.#update();
  }

  #derive(): DerivedSettings {
    const { values } = this;
    const compiled = values['etag fn'];
    return {
      development: this.#detailedEnvironments.includes(values['env'] as string),
      etag: typeof compiled === 'function' ? withBytes(compiled as EntityTag) : undefined,
      // Unset, `etag` is false with `createServer`, but only for generated bodies.
      fileEtag: !this.#setsEtag || Boolean(values['etag']),
      stringify: jsonWriter(values['json replacer'] as JsonReplacer | undefined, values['json spaces'] as number | string | undefined, Boolean(values['json escape'])),
      jsonpCallback: String(values['jsonp callback name']),
      queryParser: (values['query parser fn'] ?? parseNone) as QueryParser,
      subdomainOffset: values['subdomain offset'] as number,
      trustProxy: values['trust proxy fn'] as TrustFunction,
    };
  }
}

function compileETag(given: unknown): EntityTag | undefined {
  switch (given) {
    case true:
    case 'weak':
      return weakEntityTag;
    case false:
      return undefined;
    case 'strong':
      return strongEntityTag;
    default:
      if (typeof given === 'function') return given as EntityTag;
      throw new TypeError(`The setting "etag" got the unknown value ${inspect(given)}: it must be true, false, 'weak', 'strong' or a function`);
  }
}

/** As in Express, a function of the program always gets bytes. */
function withBytes(compiled: EntityTag): EntityTag {
  if (compiled === weakEntityTag || compiled === strongEntityTag) return compiled;
  return (body) => compiled(typeof body === 'string' ? Buffer.from(body) : body);
}

function compileTrust(given: unknown): TrustFunction {
  // As in Express, a falsy value trusts no proxy.
  return resolveOptions({ server: { trustProxy: given || false } }, {}).server.trusts;
}

/** One function for all applications, so that those with equal parsers share `req.query`. */
function parseExtended(text: string): Record<string, unknown> {
  return qs().parse(text, { allowPrototypes: true });
}

function parseNone(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

function compileQueryParser(given: unknown): QueryParser | undefined {
  if (typeof given === 'function') return given as QueryParser;
  switch (given) {
    case true:
    case 'simple':
      return parseQuery;
    case false:
      return undefined;
    case 'extended':
      return parseExtended;
    default:
      throw new TypeError(`Got the unknown value ${inspect(given)} for the setting "query parser": it must be 'simple', 'extended', a boolean or a function`);
  }
}

/** For each setting, the check of its value that makes the function of `<name> fn`. */
const COMPILERS: ReadonlyMap<string, (given: unknown) => unknown> = new Map<string, (given: unknown) => unknown>([
  ['etag', compileETag], ['query parser', compileQueryParser], ['trust proxy', compileTrust],
]);
