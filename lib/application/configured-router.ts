import { inspect } from 'node:util';
import { makeAssignable } from '../http/assignable';
import type { Unchecked } from '../http/unchecked';
import type { RenderCallback } from '../http/views';
import type { SafeLog } from '../safe-log';
import type { ResolvedOptions, RoutingOptions } from '../options/options';
import type { Handler, Handlers, MixedHandlers, PathParams } from '../routing/handler';
import { kChanged, kRegister, kUsed, type Paths, Router } from '../routing/router';
import { type KnownSettings, Settings, type SharedSettings } from './settings';
import type { ViewEngine } from './view';
import { addEngine, type RenderableView, renderView, type ViewHost } from './views';

/** What an application asks itself for; by symbols, as in {@link Router}. */
export const kShared = Symbol('waypost.application.shared');
export const kRules = Symbol('waypost.application.rules');
export const kOnMount = Symbol('waypost.application.onMount');

/**
 * What an application is besides a listener: a router with settings, and a
 * place in the application that it is mounted in, both as in Express.
 */
export class ConfiguredRouter extends Router implements ViewHost {
  /** Values for the whole application. `settings` are there too. */
  locals: Express.Locals & Record<string, Unchecked>;
  /** The path, or the paths, that it is mounted at in another; `/` where it is not. */
  mountpath: string | readonly string[] = '/';
  /** The application that it is mounted in. */
  parent: ConfiguredRouter | undefined = undefined;
  /** The engines of views by extension, dot included. */
  engines = Object.create(null) as Record<string, ViewEngine>;
  /** The views that were rendered with `cache`, by name. */
  cache = Object.create(null) as Record<string, RenderableView>;
  readonly #settings: Settings;
  readonly #options: ResolvedOptions;
  readonly #logger: SafeLog;
  readonly #mountListeners: ((parent: ConfiguredRouter) => unknown)[] = [];

  constructor(target: object, options: ResolvedOptions, logger: SafeLog, asExpress: boolean) {
    super(target);
    this.#options = options;
    this.#logger = logger;
    this.#settings = new Settings(options, { app: this, discardLimit: options.body.limit, logger }, asExpress);
    this.locals = Object.assign(Object.create(null) as Record<string, unknown>, { settings: this.#settings.values });
  }

  /** The settings as they stand; to change one, {@link set} it. */
  get settings(): Record<string, unknown> {
    return this.#settings.values;
  }

  /** What the settings mean for requests and responses. */
  protected get [kShared](): SharedSettings {
    return this.#settings.shared;
  }

  /** How paths are compared, by the options and the settings. */
  protected get [kRules](): Readonly<Required<RoutingOptions>> {
    const { routing } = this.#options;
    // The scope of the signature check was worked out by the options; it must not disagree with what is routed.
    if (signs(this.#options)) return routing;
    const caseSensitive = this.enabled('case sensitive routing');
    const ignoreTrailingSlash = this.disabled('strict routing');
    return { ...routing, caseSensitive, ignoreTrailingSlash };
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
    if (given.length === 1) return this.#settings.get(name);
    const routes = name === 'case sensitive routing' || name === 'strict routing';
    if (routes && Boolean(value) !== this.enabled(name) && signs(this.#options)) {
      const option = name === 'strict routing' ? `ignoreTrailingSlash: ${String(!value)}` : `caseSensitive: ${String(Boolean(value))}`;
      throw new TypeError(`The setting "${name}" can't be changed where request signatures are checked; write createServer({ routing: { ${option} } })`);
    }
    this.#settings.set(name, value);
    if (routes) this[kChanged]();
    if (name === 'x-powered-by' && value) this.#logger.warn('The setting "x-powered-by" has no effect: that header is never sent');
    return this;
  }

  /** With one argument, the value of a setting; else as in {@link Router}: handles GET, and HEAD unless a HEAD route of the same shape exists. */
  override get<Name extends keyof KnownSettings>(name: Name): KnownSettings[Name];
  override get(name: string): Unchecked;
  override get<const Path extends string>(path: Path | readonly Path[], ...handlers: Handler<PathParams<Path>>[]): this;
  override get<const Path extends string>(path: Path | readonly Path[], ...handlers: (Handlers<PathParams<Path>> | Handlers)[]): this;
  override get<const Path extends string>(path: Path | readonly Path[], ...handlers: MixedHandlers<PathParams<Path>>[]): this;
  override get(path: Paths, ...handlers: Handlers[]): unknown {
    // A path alone is more likely a route whose handler was forgotten than a setting of that name.
    const setting = handlers.length === 0 && typeof path === 'string' && !path.startsWith('/');
    return setting ? this.#settings.get(path) : this[kRegister]('GET', path, handlers);
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
    return Boolean(this.#settings.get(name));
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

  /** Calls back whenever it is mounted, with the application that it is mounted in. */
  protected [kOnMount](listener: (parent: ConfiguredRouter) => unknown): void {
    this.#mountListeners.push(listener);
  }

  /** An application that is mounted learns where, and takes on the settings that it has not set itself. */
  protected override [kUsed](path: Paths, entry: unknown): void {
    if (!(entry instanceof ConfiguredRouter)) return;
    entry.#settings.inherit(this.#settings);
    Object.setPrototypeOf(entry.engines, this.engines);
    entry.mountpath = path;
    entry.parent = this;
    entry[kChanged]();
    for (const listener of entry.#mountListeners) listener.call(entry, this);
  }
}

makeAssignable(ConfiguredRouter.prototype, ['settings']);

function signs({ security }: ResolvedOptions): boolean {
  return security.requestSignature !== undefined || security.webhooks.length > 0;
}
