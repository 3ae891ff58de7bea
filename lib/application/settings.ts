import { resolve } from 'node:path';
import { type EntityTag, strongEntityTag, weakEntityTag } from '../http/etag';
import { type JsonReplacer, jsonWriter } from '../http/json-writer';
import { KnownFiles } from '../http/file/known-files';
import { parseQuery } from '../http/query';
import type { QueryParser, RequestSettings } from '../http/request-state';
import type { ResponseSettings } from '../http/response-state';
import { resolveOptions } from '../options/resolve';
import type { TrustFunction, TrustProxy } from '../options/options';
import type { ResolvedOptions } from '../options/resolved';
import { qs } from '../packages';
import { View } from './view';
import type { ViewClass } from './views';

/** The settings that have an effect, by Express's names. Any other name may be set too, for the program's own use. */
export interface KnownSettings {
  /** Whether an absolute name of a view may lead out of the directories in `views`. @default false, in `express()` true */
  'absolute views': boolean | undefined;
  /** Whether `/A` and `/a` are two paths. In `express()` it counts where it is set before the first path is registered. Can't be changed where request signatures are checked. @default `routing.caseSensitive` */
  'case sensitive routing': boolean | undefined;
  /** Name of the environment; in `development` error details reach a client. @default `env` */
  env: string;
  /** ETag on responses made by `send`, `json` and their kin, or what makes it of a body. @default `etag` */
  etag: boolean | 'weak' | 'strong' | ((body: Buffer) => string | undefined);
  /** What `etag` has become; undefined for none. */
  'etag fn': ((body: Buffer) => string | undefined) | undefined;
  /** Whether `res.json` writes `<`, `>` and `&` as escapes. @default undefined: as they are */
  'json escape': boolean | undefined;
  /** Second argument of `JSON.stringify` in `res.json`. @default undefined: none */
  'json replacer': JsonReplacer | undefined;
  /** Third argument of `JSON.stringify` in `res.json`: a number of spaces, or the text to indent by. @default undefined: none */
  'json spaces': number | string | undefined;
  /** Name of the query parameter that names the function which `res.jsonp` calls. @default 'callback' */
  'jsonp callback name': string;
  /** How `req.query` is made: flat, with brackets (the package qs), not at all, or by a function of what follows the `?`. @default 'simple' */
  'query parser': boolean | 'simple' | 'extended' | QueryParser;
  /** What `query parser` has become; undefined for none. */
  'query parser fn': QueryParser | undefined;
  /** Whether `/a/` and `/a` are two paths. In `express()` as `case sensitive routing`. Can't be changed where request signatures are checked. @default not `routing.ignoreTrailingSlash` */
  'strict routing': boolean | undefined;
  /** How many labels of the host name are no subdomain. @default 2 */
  'subdomain offset': number;
  /** Whose `X-Forwarded-*` headers are believed; an application that is mounted takes its parent's unless it has its own. @default `server.trustProxy` */
  'trust proxy': TrustProxy | undefined;
  /** What `trust proxy` has become. */
  'trust proxy fn': TrustFunction;
  /** What makes views of their names. @default waypost's own */
  view: ViewClass;
  /** Whether views are looked up once, and engines told to keep what they have compiled. @default true where `env` is `production`, else undefined */
  'view cache': boolean | undefined;
  /** Extension of views whose names have none. @default undefined: none */
  'view engine': string | undefined;
  /** The directory that views stand in, or several. @default 'views' in the directory that the program was started in */
  views: string | readonly string[];
  /** No effect: the header is never sent. @default false */
  'x-powered-by': boolean | undefined;
}

/** Environments in which an Express program's errors are shown: its own tests look at them. Express shows them in all but `production`. */
const SHOWING: readonly string[] = ['development', 'test'];

/** Whose settings they are. */
export interface SettingsHost {
  /** @throws TypeError for a value that the setting can't have here. */
  vet(name: string | symbol, value: unknown): void;
  /** Told what was written; null for any. */
  wrote(name: string | symbol | null): void;
}

/** What requests and responses look at: one object that stands on their prototypes, changed in place. */
export type SharedSettings = RequestSettings & ResponseSettings;

/** What follows from the settings that a program changes. */
type Meaning = Omit<SharedSettings, 'app' | 'asExpress' | 'discardLimit' | 'files' | 'logger'>;

/**
 * The settings of one application, by name. What they mean for requests is
 * worked out when they are set, so that no request has to ask.
 */
export class Settings {
  /** As set; names that are not set here are looked up in the parent's, by the prototype. */
  readonly values: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  /** The same for a program, which may write to it: as in Express that counts as it stands, and makes nothing else of it. */
  readonly shown: Record<string, unknown>;
  readonly shared: SharedSettings;
  readonly #children = new Set<Settings>();
  /** Whether `trust proxy` is only the default, and gives way to a parent's. */
  #trustsByDefault: boolean;
  /** Whether an application of Express stands around. */
  #asks = false;
  /** Whether `etag` is more than the default. */
  #setsEtag = false;
  readonly #showing: readonly string[];
  readonly #host: SettingsHost;

  /** @param fixed What no setting changes. @param asExpress Whether what `createServer` decides otherwise than Express is decided as Express does. */
  constructor({ env, etag, routing, server }: ResolvedOptions, fixed: Pick<SharedSettings, 'app' | 'discardLimit' | 'logger'>, asExpress: boolean, host: SettingsHost) {
    this.#host = host;
    this.shown = this.#show();
    this.#showing = asExpress ? SHOWING : ['development'];
    this.#trustsByDefault = server.trustsByDefault;
    Object.assign(this.values, {
      env,
      etag,
      'etag fn': entityTagOf(etag),
      'jsonp callback name': 'callback',
      'query parser': 'simple',
      'query parser fn': parseQuery,
      'subdomain offset': 2,
      'trust proxy': server.trustProxy,
      'trust proxy fn': server.trusts,
      view: View,
      views: defaultViews(),
      'x-powered-by': false,
    });
    if (env === 'production') this.values['view cache'] = true;
    // As in Express what is not asked for is a parent's to say.
    if (!asExpress || routing.caseSensitive) this.values['case sensitive routing'] = routing.caseSensitive;
    if (!asExpress || !routing.ignoreTrailingSlash) this.values['strict routing'] = !routing.ignoreTrailingSlash;
    this.shared = { ...fixed, asExpress, files: new KnownFiles(), ...this.#meaning() };
  }

  /** @throws TypeError for a value that the setting can't have; nothing has changed then. */
  set(name: string, value: unknown): void {
    if (name === 'subdomain offset' && !(Number.isInteger(value) && Number(value) >= 0)) {
      throw new TypeError(`The setting "subdomain offset" must be an integer, 0 or more, got ${inspected(value)}`);
    }
    const make = MAKERS.get(name);
    const made = make?.(value);
    this.#host.vet(name, value);
    if (make !== undefined) this.values[`${name} fn`] = made;
    if (name === 'trust proxy') this.#trustsByDefault = false;
    this.values[name] = value;
    this.#wrote(name);
  }

  #show(): Record<string, unknown> {
    const done = (name: string | symbol | null, isDone: boolean): boolean => {
      if (isDone) this.#wrote(name);
      return isDone;
    };
    return new Proxy(this.values, {
      defineProperty: (values, name, descriptor) => {
        this.#host.vet(name, 'value' in descriptor ? descriptor.value : values[name as string]);
        return done(name, Reflect.defineProperty(values, name, descriptor));
      },
      deleteProperty: (values, name) => {
        this.#host.vet(name, undefined);
        return done(name, Reflect.deleteProperty(values, name));
      },
      setPrototypeOf: (values, prototype) => done(null, Reflect.setPrototypeOf(values, prototype)),
    });
  }

  #wrote(name: string | symbol | null): void {
    if (name === 'etag') this.#setsEtag = true;
    this.#share();
    this.#host.wrote(name);
  }

  /** Takes on what a parent has set and this one has not, from now on. */
  inherit(parent: Settings): void {
    parent.#children.add(this);
    if (this.#trustsByDefault) this.#forgetTrust();
    Object.setPrototypeOf(this.values, parent.values);
    if (parent.#asks) this.#ask();
    else this.#share();
  }

  /** The same of an application of Express. What is set there later nobody tells: it is asked whenever it counts, as in Express. */
  inheritForeign(values: object): void {
    if (this.#trustsByDefault && typeof (values as Record<string, unknown>)['trust proxy fn'] === 'function') this.#forgetTrust();
    Object.setPrototypeOf(this.values, values);
    this.#ask();
  }

  #forgetTrust(): void {
    delete this.values['trust proxy'];
    delete this.values['trust proxy fn'];
  }

  #ask(): void {
    this.#asks = true;
    for (const name of Object.keys(this.#meaning()) as (keyof Meaning)[]) {
      Object.defineProperty(this.shared, name, { get: () => this.#meaning()[name], enumerable: true, configurable: true });
    }
    for (const child of this.#children) child.#ask();
  }

  /** Tells requests and responses of the settings, here and in what is mounted here. */
  #share(): void {
    if (this.#asks) return;
    Object.assign(this.shared, this.#meaning());
    for (const child of this.#children) child.#share();
  }

  #meaning(): Meaning {
    const { values } = this;
    const made = values['etag fn'];
    return {
      development: this.#showing.includes(values['env'] as string),
      etag: typeof made === 'function' ? entityTagBy(made as EntityTag) : undefined,
      // False by default with `createServer`, where it is of what is made anew each time.
      fileEtag: !this.#setsEtag || Boolean(values['etag']),
      stringify: jsonWriter(values['json replacer'] as JsonReplacer | undefined, values['json spaces'] as number | string | undefined, Boolean(values['json escape'])),
      jsonpCallback: String(values['jsonp callback name']),
      queryParser: (values['query parser fn'] ?? parseNone) as QueryParser,
      subdomainOffset: values['subdomain offset'] as number,
      trustProxy: values['trust proxy fn'] as TrustFunction,
    };
  }
}

function entityTagOf(given: unknown): EntityTag | undefined {
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
      throw new TypeError(`The setting "etag" got the unknown value ${inspected(given)}: it must be true, false, 'weak', 'strong' or a function`);
  }
}

/** As in Express, a function of the program's gets bytes, whatever was sent. */
function entityTagBy(made: EntityTag): EntityTag {
  if (made === weakEntityTag || made === strongEntityTag) return made;
  return (body) => made(typeof body === 'string' ? Buffer.from(body) : body);
}

function trustOf(given: unknown): TrustFunction {
  // As in Express, nothing at all trusts nobody.
  return resolveOptions({ server: { trustProxy: given || false } }, {}).server.trusts;
}

/** One function for all: applications by which queries are read alike have one query in common. */
function parseExtended(text: string): Record<string, unknown> {
  return qs().parse(text, { allowPrototypes: true });
}

function parseNone(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

function queryParserOf(given: unknown): QueryParser | undefined {
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
      throw new TypeError(`Got the unknown value ${inspected(given)} for the setting "query parser": it must be 'simple', 'extended', a boolean or a function`);
  }
}

/** By setting, what checks its value and makes the function that the setting of the name with ` fn` holds. */
const MAKERS: ReadonlyMap<string, (given: unknown) => unknown> = new Map<string, (given: unknown) => unknown>([
  ['etag', entityTagOf], ['query parser', queryParserOf], ['trust proxy', trustOf],
]);

function defaultViews(): string {
  try {
    return resolve('views');
  } catch {
    // The working directory is gone.
    return 'views';
  }
}

function inspected(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : typeof value;
}
