import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { assign } from '../http/assignable';
import type { Unchecked } from '../http/unchecked';
import type { RenderCallback } from '../http/host-application';
import type { SafeLog } from '../safe-log';
import type { RoutingOptions } from '../options/options';
import type { ResolvedOptions } from '../options/resolved';
import type { Handler, NextFunction } from '../routing/handler';
import type { Path, Paths } from '../routing/given-path';
import type { PathRules } from '../routing/patterns/path';
import { kChanged, kUsed, kVet, kVetPaths, type RoutingRules } from '../routing/registration';
import { kConfigure, kShownRouter, kStandsAlone, Router } from '../routing/router';
import { callOnSelf, selfOf } from '../routing/self';
import { looser, type RouterOptions, rulesOf } from '../routing/router-options';
import type { Verb } from '../routing/verb-types';
import { isForeign, mountForeign } from './foreign-application';
import { giveMembers } from './members';
import { type KnownSettings, Settings, type SharedSettings } from './settings';
import type { ViewEngine } from './view';
import { addEngine, type RenderableView, renderView, type ViewHost } from './views';

/** What an application asks itself for; by symbols, as in {@link Router}. */
export const kShared = Symbol('waypost.application.shared');
export const kRules = Symbol('waypost.application.rules');
export const kRegistrar = Symbol('waypost.application.registrar');

type Comparison = Pick<Required<RoutingOptions>, 'caseSensitive' | 'ignoreTrailingSlash'>;

interface SettingGetter {
  /** With the name of a setting alone, its value; with a path and handlers, registers a route of GET, and of HEAD. */
  <Name extends keyof KnownSettings>(name: Name): KnownSettings[Name];
  (name: string): Unchecked;
}

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging -- what Node's emitters have is given to the prototype */
export interface ConfiguredRouter extends EventEmitter {
  /**
   * Registers handlers of GET requests, and of HEAD requests unless a HEAD route of the same shape exists. With the name of a setting alone, its value.
   * @example
   * app.get('/users/:id', (req, res) => res.json({ id: req.params.id }));
   */
  get: SettingGetter & Verb<this>;
}

/**
 * What an application is besides a listener: a router with settings, an
 * emitter, and a place in the application that it is mounted in, as in Express.
 */
export class ConfiguredRouter extends Router implements ViewHost {
  /** Values for the whole application. `settings` are there too. */
  locals: Express.Locals & Record<string, Unchecked>;
  /** The path, or the paths, that it is mounted at in another; `/` where it is not. */
  mountpath: Paths = '/';
  /** The application that it is mounted in. */
  parent: ConfiguredRouter | undefined = undefined;
  /** The engines of views by extension, dot included. */
  engines = Object.create(null) as Record<string, ViewEngine>;
  /** The views that were rendered with `cache`, by name. */
  cache = Object.create(null) as Record<string, RenderableView>;
  readonly #settings: Settings;
  readonly #options: ResolvedOptions;
  readonly #logger: SafeLog;
  readonly #asExpress: boolean;
  /** By what paths are compared, once it can no longer be set. */
  #comparison: Comparison | null = null;
  readonly #shown: Router;
  /** Calls the router that a program has defined in the place of that, as it is by then. */
  readonly #callDefined: Handler = (req, res, next) => this[kRegistrar].handle(req, res, next);
  /** What a program has assigned to `router`, for itself. */
  #assigned: unknown;

  /** @param asExpress Whether routers without options go by Express's defaults, and what settings mean as well. */
  constructor(target: (req: IncomingMessage, res: ServerResponse, next?: NextFunction) => void, options: ResolvedOptions, logger: SafeLog, asExpress: boolean) {
    super(undefined, target);
    this.#options = options;
    this.#asExpress = asExpress;
    this.#logger = logger;
    this.#settings = new Settings(options, { app: this, discardLimit: options.body.limit, logger }, asExpress, {
      vet: (name, value) => this.#vetSetting(name, value),
      wrote: (name) => {
        if (name === null || isOfRoutes(name)) this[kChanged]();
      },
    });
    const rules = (): PathRules => this[kRules];
    this.#shown = Router.shownFor(this, { get caseSensitive() { return rules().caseSensitive; }, get strict() { return !rules().ignoreTrailingSlash; } });
    EventEmitter.prototype.on.call(this, 'mount', (parent: unknown) => this.#mountedIn(parent));
    this.locals = Object.assign(Object.create(null) as Record<string, unknown>, { settings: this.#settings.shown });
  }

  /** What its routes and middleware are registered in, as in Express: what is put in the place of its `handle`, `use`, `route` and `param`, or taken out of its `stack`, counts for the application. */
  get router(): Router {
    return (this.#assigned as Router | undefined) ?? this.#shown;
  }

  /** As in Express what is assigned counts for nothing: a router would have to be defined. In `createServer` it is the program's own. */
  set router(given: Router) {
    if (!this.#asExpress) this.#assigned = given;
  }

  /** @internal */
  protected override get [kShownRouter](): Router | Handler {
    return this[kRegistrar] === this.#shown ? this.#shown : this.#callDefined;
  }

  /**
   * @internal The router, or what a program has defined in its place: as in Express that is called, and registered in.
   * @throws TypeError where signatures are checked: its paths may be others than those that the scope of the check was worked out by.
   */
  get [kRegistrar](): Router {
    const isDefined = Object.hasOwn(this, 'router');
    if (isDefined && signs(this.#options)) throw new TypeError('Another router can\'t be defined where request signatures are checked; write app.use(router)');
    const defined = isDefined ? (this as { readonly router: unknown }).router : undefined;
    return typeof defined === 'function' && defined !== this && typeof (defined as Partial<Router>).handle === 'function' ? (defined as Router) : this.#shown;
  }

  /** @internal As the settings of the name. */
  protected override [kConfigure]({ caseSensitive, strict }: RouterOptions): void {
    if (caseSensitive !== undefined) this.set('case sensitive routing', caseSensitive);
    if (strict !== undefined) this.set('strict routing', strict);
  }

  /** The settings as they stand. To change one, {@link set} it: what is written here counts as it stands, and `etag` makes no `etag fn`. */
  get settings(): Record<string, Unchecked> {
    return this.#settings.shown;
  }

  /** An object's settings are written over those that stand; anything else is the program's own. */
  set settings(given: Record<string, Unchecked>) {
    if (typeof given === 'object' && (given as unknown) !== null) Object.assign(this.#settings.shown, given);
    else assign(this, 'settings', given);
  }

  /** The scope of the signature check was worked out by the options. */
  #vetSetting(name: string | symbol, value: unknown): void {
    if (!isOfRoutes(name) || Boolean(value) === this.enabled(name) || !signs(this.#options)) return;
    const option = name === 'strict routing' ? `ignoreTrailingSlash: ${String(!value)}` : `caseSensitive: ${String(Boolean(value))}`;
    throw new TypeError(`The setting "${name}" can't be changed where request signatures are checked; write createServer({ routing: { ${option} } })`);
  }

  /** @internal What the settings mean for requests and responses. */
  protected get [kShared](): SharedSettings {
    return this.#settings.shared;
  }

  /** @internal How paths are compared, by the options and the settings. */
  protected get [kRules](): Readonly<Required<RoutingOptions>> & RoutingRules {
    const { routing } = this.#options;
    const express = this.#asExpress ? { within: routing, mergeParams: false, answerOptions: !routing.methodNotAllowed } : undefined;
    // The scope of the signature check was worked out by the options; it must not disagree with what is routed.
    if (signs(this.#options)) return { ...routing, ...express };
    return { ...routing, ...(this.#comparison ?? this.#compares()), ...express };
  }

  #compares(): Comparison {
    return { caseSensitive: this.enabled('case sensitive routing'), ignoreTrailingSlash: this.disabled('strict routing') };
  }

  /** As in Express, what is set once something is registered counts for nothing, nor what is inherited from then on. */
  protected override [kVetPaths](paths: readonly Path[]): void {
    if (this.#asExpress) this.#comparison ??= this.#compares();
    super[kVetPaths](paths);
  }

  /** @internal As its settings, the options of routers must not loosen what the scope of the signature check was worked out by. */
  protected override [kVet](given: RouterOptions): void {
    const { routing } = this.#options;
    if (!signs(this.#options) || !looser(rulesOf(given, routing), routing)) return;
    throw new TypeError(`A router with the options ${inspect(given)} can't be used where request signatures are checked by stricter paths; write createServer({ routing: { caseSensitive, ignoreTrailingSlash } })`);
  }

  /** @internal */
  protected override get [kStandsAlone](): boolean {
    return true;
  }

  /**
   * Changes a setting, or with the name alone returns it. Those in
   * {@link KnownSettings} have an effect at once, also on applications that are
   * mounted here; other names are the program's own.
   * @throws TypeError for a value that the setting can't have.
   */
  set<Name extends keyof KnownSettings>(name: Name, value: KnownSettings[Name]): this;
  set(name: string, value: unknown): this;
  set<Name extends keyof KnownSettings>(name: Name): KnownSettings[Name];
  set(name: string): Unchecked;
  set(...given: [name: string, value?: unknown]): unknown {
    const [name, value] = given;
    if (typeof name !== 'string') throw new TypeError(`set() needs the name of a setting, got ${inspect(name)}`);
    if (given.length === 1) return this.#settings.values[name];
    this.#settings.set(name, value);
    if (name === 'x-powered-by' && value) this.#logger.warn('The setting "x-powered-by" has no effect: that header is never sent');
    return this;
  }

  /** Sets a setting to true. */
  enable(name: string): this {
    return this.set(name, true);
  }

  /** Sets a setting to false. */
  disable(name: string): this {
    return this.set(name, false);
  }

  /** Whether a setting is truthy. */
  enabled(name: string): boolean {
    return Boolean(this.#settings.values[name]);
  }

  /** Whether a setting is falsy. */
  disabled(name: string): boolean {
    return !this.enabled(name);
  }

  /** The path of the application as mounted, from the outermost on; empty where it is not mounted. */
  path(): string {
    return this.parent === undefined ? '' : this.parent.path() + String(this.mountpath);
  }

  /**
   * Has views with an extension rendered by a function. Without one, the package of the extension's name is loaded.
   * @throws TypeError for what is no function.
   */
  engine(extension: string, engine: ViewEngine): this {
    addEngine(this, extension, engine);
    return this;
  }

  /**
   * Renders a view (see the settings `views` and `view engine`) with the locals of the application and the options.
   * @throws Error where it is not known which engine renders it, or that can't be loaded; what else fails the callback is told.
   */
  render(name: string, callback: RenderCallback): void;
  render(name: string, options: object | null | undefined, callback: RenderCallback): void;
  render(name: string, second: object | null | undefined, third?: RenderCallback): void {
    if (typeof second === 'function') renderView(this, name, undefined, second as RenderCallback);
    else renderView(this, name, second, third);
  }

  /** As in Express, one that is mounted in an application of that takes on its settings and engines: the event is how it is told. */
  #mountedIn(parent: unknown): void {
    if (parent instanceof ConfiguredRouter || !isForeign(parent)) return;
    const { settings, engines } = parent;
    if (isObject(settings)) this.#settings.inheritForeign(settings);
    if (isObject(engines)) Object.setPrototypeOf(this.engines, engines);
    this[kChanged]();
  }

  /** @internal An application that is mounted learns where, and takes on the settings that it has not set itself. */
  protected override [kUsed](path: Paths, entry: unknown): void {
    if (entry instanceof ConfiguredRouter && #settings in selfOf(entry)) {
      selfOf(entry).#settings.inherit(this.#settings);
      Object.setPrototypeOf(entry.engines, this.engines);
      entry.mountpath = path;
      entry.parent = this;
      selfOf(entry)[kChanged]();
      entry.emit('mount', this);
    } else if (isForeign(entry)) {
      mountForeign(entry, path, this);
    }
  }
}

const routeGet = Router.prototype.get as (...given: unknown[]) => unknown;

/** As in Express, the name alone asks for a setting. A path alone is more likely a route whose handler was forgotten. */
function get(this: ConfiguredRouter, ...given: [unknown, ...unknown[]]): unknown {
  const [name] = given;
  return given.length === 1 && typeof name === 'string' && !name.startsWith('/') ? this.set(name) : routeGet.apply(this, given);
}

callOnSelf(ConfiguredRouter.prototype, { except: [] });
giveMembers(ConfiguredRouter.prototype, EventEmitter.prototype);
Object.defineProperty(ConfiguredRouter.prototype, 'get', { value: get, writable: true, configurable: true });

function isObject(given: unknown): given is object {
  return typeof given === 'object' && given !== null;
}

function isOfRoutes(name: string | symbol): name is 'case sensitive routing' | 'strict routing' {
  return name === 'case sensitive routing' || name === 'strict routing';
}

function signs({ security }: ResolvedOptions): boolean {
  return security.requestSignature !== undefined || security.webhooks.length > 0;
}
