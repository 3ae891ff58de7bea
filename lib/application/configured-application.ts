import { EventEmitter } from 'node:events';
import { inspect } from 'node:util';
import { assign } from '../http/assignable';
import type { RenderCallback } from '../http/host-application';
import type { Unchecked } from '../http/unchecked';
import type { ResolvedOptions } from '../options/resolved';
import { kMounted } from '../routing/layer';
import { Router } from '../routing/router';
import { makeRules, type RoutingRules } from '../routing/rules';
import type { SafeLog } from '../log/safe-log';
import { type KnownSettings, Settings, type SharedSettings } from './settings';
import type { ViewEngine } from './view';
import { addEngine, type RenderableView, renderView, type ViewHost } from './views';
import type { Paths } from '../routing/given-path';

/** What an application goes by. */
export interface Configuration {
  readonly options: ResolvedOptions;
  readonly logger: SafeLog;
  /** Whether the settings, and routers without options, mean what they mean in Express. */
  readonly asExpress: boolean;
  readonly settings: Settings;
  /** How paths are compared; null where a setting has changed since. */
  rules: RoutingRules | null;
  /** Made when it is first asked for: by then the settings are read, as in Express. */
  router: Router | null;
}

const kConfiguration = Symbol('waypost.application.configuration');
export const kConfigure = Symbol('waypost.application.configure');
export const kRules = Symbol('waypost.application.rules');
export const kShared = Symbol('waypost.application.shared');

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging -- what Node's emitters have is given to the prototype */
export interface ConfiguredApplication extends EventEmitter {
  /** The value of a setting. */
  get(name: string): Unchecked;
}

/**
 * What an application is besides a listener: a router with settings, an
 * emitter, and a place in the application that it is mounted in, as in Express.
 */
export abstract class ConfiguredApplication implements ViewHost {
  /** Values for the whole application. `settings` are there too. */
  declare locals: Express.Locals & Record<string, Unchecked>;
  /** The path, or the paths, that it is mounted at in another; `/` where it is not. */
  declare mountpath: Paths;
  /** The application that it is mounted in. */
  declare parent: ConfiguredApplication | undefined;
  /** The engines of views by extension, dot included. */
  declare engines: Record<string, ViewEngine>;
  /** The views that were rendered with `cache`, by name. */
  declare cache: Record<string, RenderableView>;
  /** The router that all is registered in, as in Express. */
  declare readonly router: Router;
  /** @internal */
  declare readonly [kConfiguration]: Configuration;

  /** @internal Configures a function that has this class's methods by now. */
  [kConfigure](options: ResolvedOptions, logger: SafeLog, asExpress: boolean): void {
    const settings = new Settings(options, { app: this, discardLimit: options.body.limit, logger }, asExpress, {
      vet: (name, value) => vet(this, name, value),
      wrote: () => {
        configuration.rules = null;
      },
    });
    const configuration: Configuration = { options, logger, asExpress, settings, rules: null, router: null };
    Object.defineProperty(this, kConfiguration, { value: configuration });
    Object.defineProperty(this, 'router', { configurable: true, enumerable: true, get: () => (configuration.router ??= makeRouter(this)) });
    EventEmitter.prototype.on.call(this, 'mount', (parent: unknown) => mountedIn(this, parent));
    Object.assign(this, {
      locals: Object.assign(Object.create(null) as object, { settings: settings.shown }),
      mountpath: '/',
      parent: undefined,
      engines: Object.create(null) as object,
      cache: Object.create(null) as object,
    });
  }

  /** @internal How the application compares paths, by the options, and in `createServer` by the settings. */
  get [kRules](): RoutingRules {
    const configuration = this[kConfiguration];
    if (configuration.rules !== null) return configuration.rules;
    const { asExpress, options } = configuration;
    const { routing } = options;
    const signed = isSigned(options);
    const compared = asExpress || signed ? routing : { ...routing, caseSensitive: this.enabled('case sensitive routing'), ignoreTrailingSlash: this.disabled('strict routing') };
    return (configuration.rules = makeRules({ ...compared, asExpress, answersOptions: asExpress && !routing.methodNotAllowed, isSigned: signed }));
  }

  /** The settings as they stand. To change one, {@link set} it: what is written here counts as it stands, and `etag` makes no `etag fn`. */
  get settings(): Record<string, Unchecked> {
    return this[kConfiguration].settings.shown;
  }

  /** An object's settings are written over those that stand; anything else is the program's own. */
  set settings(given: Record<string, Unchecked>) {
    if (typeof given === 'object' && (given as unknown) !== null) Object.assign(this.settings, given);
    else assign(this, 'settings', given);
  }

  /** @internal What the settings mean for requests and responses. */
  get [kShared](): SharedSettings {
    return this[kConfiguration].settings.shared;
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
    if (given.length === 1) return this[kConfiguration].settings.values[name];
    this[kConfiguration].settings.set(name, value);
    if (name === 'x-powered-by' && value) this[kConfiguration].logger.warn('The setting "x-powered-by" has no effect: that header is never sent');
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
    return Boolean(this[kConfiguration].settings.values[name]);
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
}

function makeRouter(app: ConfiguredApplication): Router {
  const router = new Router(app[kConfiguration].asExpress ? { caseSensitive: app.enabled('case sensitive routing'), strict: app.enabled('strict routing') } : undefined);
  router[kMounted].home = () => app[kRules];
  return router;
}

/** @throws TypeError for a setting that changes how paths are compared, where the scope of a signature check was worked out by the options. */
function vet(app: ConfiguredApplication, name: string | symbol, value: unknown): void {
  if (name !== 'case sensitive routing' && name !== 'strict routing') return;
  if (Boolean(value) === app.enabled(name) || !isSigned(app[kConfiguration].options)) return;
  const option = name === 'strict routing' ? `ignoreTrailingSlash: ${String(!value)}` : `caseSensitive: ${String(Boolean(value))}`;
  throw new TypeError(`The setting "${name}" can't be changed where request signatures are checked; write createServer({ routing: { ${option} } })`);
}

function isSigned({ security }: ResolvedOptions): boolean {
  return security.requestSignature !== undefined || security.webhooks.length > 0;
}

/** As in Express, an application that is mounted takes on settings and engines: the event is how it is told. */
function mountedIn(app: ConfiguredApplication, parent: unknown): void {
  const configuration = app[kConfiguration];
  const around = (parent as Partial<ConfiguredApplication>)[kConfiguration];
  const { settings, engines } = parent as { readonly settings?: unknown; readonly engines?: unknown };
  if (around !== undefined) configuration.settings.inherit(around.settings);
  else if (typeof settings === 'object' && settings !== null) configuration.settings.inheritForeign(settings);
  if (typeof engines === 'object' && engines !== null) Object.setPrototypeOf(app.engines, engines);
  configuration.rules = null;
}

for (const name of Object.getOwnPropertyNames(EventEmitter.prototype)) {
  if (name !== 'constructor') Object.defineProperty(ConfiguredApplication.prototype, name, Object.getOwnPropertyDescriptor(EventEmitter.prototype, name) as PropertyDescriptor);
}
// `call`, `apply` and what else a function has: Node and others call it by these.
Object.setPrototypeOf(ConfiguredApplication.prototype, Function.prototype);
