import { resolve } from 'node:path';
import type { EntityTag } from '../http/etag';
import { strongEntityTag, weakEntityTag } from '../http/etag';
import { type JsonReplacer, jsonWriter } from '../http/json-writer';
import { KnownFiles } from '../http/file/known-files';
import { parseQuery } from '../http/query';
import type { QueryParser, RequestSettings } from '../http/request-state';
import type { ResponseSettings } from '../http/response-state';
import { resolveOptions } from '../options/resolve';
import type { CreateServerOptions, ResolvedOptions, TrustFunction, TrustProxy } from '../options/options';
import { qs } from '../packages';
import { View } from './view';
import type { ViewClass } from './views';

/** The settings that have an effect, by Express's names. Any other name may be set too, for the program's own use. */
export interface KnownSettings {
  /** Whether an absolute name of a view may lead out of the directories in `views`. @default false, in `express()` true */
  'absolute views': boolean | undefined;
  /** Whether `/A` and `/a` are two paths. Can't be changed where request signatures are checked. @default `routing.caseSensitive` */
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
  /** Whether `/a/` and `/a` are two paths. Can't be changed where request signatures are checked. @default not `routing.ignoreTrailingSlash` */
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

type Shared = RequestSettings & ResponseSettings;

/** What requests and responses look at: one object that stands on their prototypes, changed in place. */
export type SharedSettings = { -readonly [Name in keyof Shared]: Shared[Name] };

/** The part of {@link SharedSettings} that no setting changes. */
export type FixedSettings = Pick<Shared, 'app' | 'discardLimit' | 'logger'>;

/**
 * The settings of one application, by name. What they mean for requests is
 * worked out when they are set, so that no request has to ask.
 */
export class Settings {
  /** As set; names that are not set here are looked up in the parent's, by the prototype. */
  readonly values: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  readonly shared: SharedSettings;
  readonly #children = new Set<Settings>();
  /** Whether `trust proxy` is only the default, and gives way to a parent's. */
  #trustsByDefault: boolean;
  /** Whether `etag` is more than the default. */
  #setsEtag = false;
  readonly #showing: readonly string[];

  /** @param asExpress Whether what `createServer` decides otherwise than Express is decided as Express does. */
  constructor({ env, etag, routing, server }: ResolvedOptions, fixed: FixedSettings, asExpress: boolean) {
    this.#showing = asExpress ? SHOWING : ['development'];
    this.#trustsByDefault = server.trustProxy === false;
    const entityTag = entityTagOf(etag);
    Object.assign(this.values, {
      'case sensitive routing': routing.caseSensitive,
      env,
      etag,
      'etag fn': entityTag,
      'jsonp callback name': 'callback',
      'query parser': 'simple',
      'query parser fn': parseQuery,
      'strict routing': !routing.ignoreTrailingSlash,
      'subdomain offset': 2,
      'trust proxy': server.trustProxy,
      'trust proxy fn': server.trusts,
      view: View,
      views: defaultViews(),
      'x-powered-by': false,
    });
    if (env === 'production') this.values['view cache'] = true;
    this.shared = {
      ...fixed,
      asExpress,
      development: this.#showing.includes(env),
      etag: entityTag,
      fileEtag: true,
      stringify: undefined,
      files: new KnownFiles(),
      jsonpCallback: 'callback',
      queryParser: parseQuery,
      subdomainOffset: 2,
      trustProxy: server.trusts,
    };
  }

  get(name: string): unknown {
    return this.values[name];
  }

  /** @throws TypeError for a value that the setting can't have; nothing has changed then. */
  set(name: string, value: unknown): void {
    const { values } = this;
    const made = this.#make(name, value);
    if (made !== undefined) values[made.name] = made.value;
    values[name] = value;
    this.#share();
  }

  /** Takes on what a parent has set and this one has not, from now on. */
  inherit(parent: Settings): void {
    parent.#children.add(this);
    if (this.#trustsByDefault) {
      delete this.values['trust proxy'];
      delete this.values['trust proxy fn'];
    }
    Object.setPrototypeOf(this.values, parent.values);
    this.#share();
  }

  /** Checks the value, and makes the function of those settings that have one. */
  #make(name: string, value: unknown): { name: string; value: unknown } | undefined {
    switch (name) {
      case 'etag':
        this.#setsEtag = true;
        return { name: 'etag fn', value: entityTagOf(value) };
      case 'query parser':
        return { name: 'query parser fn', value: queryParserOf(value) };
      case 'trust proxy': {
        const trusts = trustOf(value);
        this.#trustsByDefault = false;
        return { name: 'trust proxy fn', value: trusts };
      }
      case 'subdomain offset':
        if (Number.isInteger(value) && Number(value) >= 0) return undefined;
        throw new TypeError(`The setting "subdomain offset" must be an integer, 0 or more, got ${inspected(value)}`);
      default:
        return undefined;
    }
  }

  /** Works out what requests and responses look at, here and in what is mounted here. */
  #share(): void {
    const { shared, values } = this;
    const made = values['etag fn'];
    shared.development = this.#showing.includes(values['env'] as string);
    // False by default with `createServer`, where it is of what is made anew each time.
    shared.fileEtag = !this.#setsEtag || typeof made === 'function';
    shared.etag = typeof made === 'function' ? entityTagBy(made as EntityTag) : undefined;
    shared.stringify = jsonWriter(values['json replacer'] as JsonReplacer | undefined, values['json spaces'] as number | string | undefined, Boolean(values['json escape']));
    shared.jsonpCallback = String(values['jsonp callback name']);
    shared.queryParser = sharedParser(values['query parser fn']);
    shared.subdomainOffset = values['subdomain offset'] as number;
    shared.trustProxy = values['trust proxy fn'] as TrustFunction;
    for (const child of this.#children) child.#share();
  }
}

const NOWHERE = Object.freeze({});

/** Settings that are options too are read as these. */
function asOptions(options: CreateServerOptions): ResolvedOptions {
  return resolveOptions(options, NOWHERE);
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
  const trustProxy = (given || false) as TrustProxy;
  return asOptions({ server: { trustProxy } }).server.trusts;
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
      return extendedParser();
    default:
      throw new TypeError(`Got the unknown value ${inspected(given)} for the setting "query parser": it must be 'simple', 'extended', a boolean or a function`);
  }
}

function extendedParser(): QueryParser {
  return (text) => qs().parse(text, { allowPrototypes: true });
}

function sharedParser(made: unknown): QueryParser {
  if (made === undefined) return noQuery;
  return made as QueryParser;
}

function noQuery(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

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
