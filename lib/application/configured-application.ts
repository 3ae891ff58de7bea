import { EventEmitter } from 'node:events';
import { inspect } from 'node:util';
import { assign } from '../http/assignable';
import type { RenderCallback } from '../http/host-application';
import type { Unchecked } from '../http/unchecked';
import type { ResolvedOptions } from '../options/resolved';
import { kMounted } from '../routing/layer';
import { Router } from '../routing/router';
import { late } from '../packages';
import { makeRules, type RoutingRules } from '../routing/rules';
import type { SafeLog } from '../log/safe-log';
import { type KnownSettings, Settings, type SharedSettings } from './settings';
import type { ViewEngine } from './view';
import type { RenderableView, ViewHost } from './views';
import type { Paths } from '../routing/given-path';

/** The configuration of an application. */
export interface Configuration {
  readonly options: ResolvedOptions;
  readonly logger: SafeLog;
  /** True if settings, and routers without options, behave as in Express. */
  readonly asExpress: boolean;
  readonly settings: Settings;
  /** Rules for comparing paths; null after a change of a setting. */
  rules: RoutingRules | null;
  /** Made at the first access, with the settings of that time, as in Express. */
  router: Router | null;
}

const views = late(() => require('./views') as typeof import('./views'));

const kConfiguration = Symbol('waypost.application.configuration');
export const kConfigure = Symbol('waypost.application.configure');
export const kRules = Symbol('waypost.application.rules');
export const kIsRouterMade = Symbol('waypost.application.isRouterMade');
export const kShared = Symbol('waypost.application.shared');

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging -- what Node's emitters have is given to the prototype */
export interface ConfiguredApplication extends EventEmitter {
  /** The value of a setting. */
  get(name: string): Unchecked;
}

/**
 * The base of an application, as in Express: an emitter with a router,
 * settings, and a parent when mounted.
 */
export abstract class ConfiguredApplication implements ViewHost {
  /** Values for the whole application, `settings` included. */
  declare locals: Express.Locals & Record<string, Unchecked>;
  /** The mount path, or several; `/` for an unmounted application. */
  declare mountpath: Paths;
  /** The parent application, if mounted. */
  declare parent: ConfiguredApplication | undefined;
  /** View engines by extension, dot included. */
  declare engines: Record<string, ViewEngine>;
  /** Views rendered with `cache`, by name. */
  declare cache: Record<string, RenderableView>;
  /** The router of all registrations, as in Express. */
  declare readonly router: Router;
  /** @internal */
  declare readonly [kConfiguration]: Configuration;

  /** @internal Configures a function that already has this class's methods. */
  [kConfigure](options: ResolvedOptions, logger: SafeLog, asExpress: boolean): void {
    const settings = new Settings(options, { app: this, discardLimit: options.body.limit, errors: options.errors, logger }, asExpress, {
      validate: (name, value) => validate(this, name, value),
      changed: () => {
        configuration.rules = null;
      },
    });
    const configuration: Configuration = { options, logger, asExpress, settings, rules: null, router: null };
    Object.defineProperty(this, kConfiguration, { value: configuration });
    Object.defineProperty(this, 'router', { configurable: true, enumerable: true, get: () => (configuration.router ??= makeRouter(this)) });
    EventEmitter.prototype.on.call(this, 'mount', (parent: unknown) => inheritFrom(this, parent));
    Object.assign(this, {
      locals: Object.assign(Object.create(null) as object, { settings: settings.exposed }),
      mountpath: '/',
      parent: undefined,
      engines: Object.create(null) as object,
      cache: Object.create(null) as object,
    });
  }

  /** @internal False until the router is asked for, as in Express: it is made by the settings of that time, inherited ones included. */
  get [kIsRouterMade](): boolean {
    return this[kConfiguration].router !== null;
  }

  /** @internal Rules for comparing paths, by the options, and in `createServer` by the settings. */
  get [kRules](): RoutingRules {
    const configuration = this[kConfiguration];
    if (configuration.rules !== null) return configuration.rules;
    const { asExpress, options } = configuration;
    const { routing } = options;
    const signed = isSigned(options);
    const compared = asExpress || signed ? routing : { ...routing, caseSensitive: this.enabled('case sensitive routing'), ignoreTrailingSlash: this.disabled('strict routing') };
    return (configuration.rules = makeRules({ ...compared, asExpress, answersOptions: asExpress && !routing.methodNotAllowed, isSigned: signed }));
  }

  /** The current settings. Use {@link set} to change one: values written here are not processed, so `etag` makes no `etag fn`. */
  get settings(): Record<string, Unchecked> {
    return this[kConfiguration].settings.exposed;
  }

  /** Merges an object into the settings; any other value replaces the property. */
  set settings(given: Record<string, Unchecked>) {
    if (typeof given === 'object' && (given as unknown) !== null) Object.assign(this.settings, given);
    else assign(this, 'settings', given);
  }

  /** @internal Settings as read by requests and responses. */
  get [kShared](): SharedSettings {
    return this[kConfiguration].settings.shared;
  }

  /**
   * Changes a setting, or with the name alone returns it. Those in
   * {@link KnownSettings} take effect at once, also on mounted applications;
   * other names are the program's own.
   * @throws TypeError for an invalid value.
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

  /** True for a truthy setting. */
  enabled(name: string): boolean {
    return Boolean(this[kConfiguration].settings.values[name]);
  }

  /** True for a falsy setting. */
  disabled(name: string): boolean {
    return !this.enabled(name);
  }

  /** The full mount path, from the outermost application on; empty for an unmounted one. */
  path(): string {
    return this.parent === undefined ? '' : this.parent.path() + String(this.mountpath);
  }

  /**
   * Registers the engine of an extension. The default engine is the package named as the extension.
   * @throws TypeError for an engine that is no function.
   */
  engine(extension: string, engine: ViewEngine): this {
    views().addEngine(this, extension, engine);
    return this;
  }

  /**
   * Renders a view with the application's locals and the options. See the settings `views` and `view engine`.
   * @throws Error for an unknown engine, or one that can't be loaded; other errors go to the callback.
   */
  render(name: string, callback: RenderCallback): void;
  render(name: string, options: object | null | undefined, callback: RenderCallback): void;
  render(name: string, second: object | null | undefined, third?: RenderCallback): void {
    if (typeof second === 'function') views().renderView(this, name, undefined, second as RenderCallback);
    else views().renderView(this, name, second, third);
  }
}

function makeRouter(app: ConfiguredApplication): Router {
  const router = new Router(app[kConfiguration].asExpress ? { caseSensitive: app.enabled('case sensitive routing'), strict: app.enabled('strict routing') } : undefined);
  router[kMounted].home = () => app[kRules];
  return router;
}

/** @throws TypeError for a setting that would change path comparison under a signature check. */
function validate(app: ConfiguredApplication, name: string | symbol, value: unknown): void {
  if (name !== 'case sensitive routing' && name !== 'strict routing') return;
  if (Boolean(value) === app.enabled(name) || !isSigned(app[kConfiguration].options)) return;
  const option = name === 'strict routing' ? `ignoreTrailingSlash: ${String(!value)}` : `caseSensitive: ${String(Boolean(value))}`;
  throw new TypeError(`The setting "${name}" can't be changed where request signatures are checked; write createServer({ routing: { ${option} } })`);
}

function isSigned({ security }: ResolvedOptions): boolean {
  return security.requestSignature !== undefined || security.webhooks.length > 0;
}

/** Listener of `mount`: as in Express, the application inherits settings and engines. */
function inheritFrom(app: ConfiguredApplication, parent: unknown): void {
  const configuration = app[kConfiguration];
  const parentConfiguration = (parent as Partial<ConfiguredApplication>)[kConfiguration];
  const { settings, engines } = parent as { readonly settings?: unknown; readonly engines?: unknown };
  if (parentConfiguration !== undefined) configuration.settings.inherit(parentConfiguration.settings);
  else if (typeof settings === 'object' && settings !== null) configuration.settings.inheritForeign(settings);
  if (typeof engines === 'object' && engines !== null) Object.setPrototypeOf(app.engines, engines);
  configuration.rules = null;
}

for (const name of Object.getOwnPropertyNames(EventEmitter.prototype)) {
  if (name !== 'constructor') Object.defineProperty(ConfiguredApplication.prototype, name, Object.getOwnPropertyDescriptor(EventEmitter.prototype, name) as PropertyDescriptor);
}
// Gives it `call`, `apply` and the other methods of functions, which Node and others use.
Object.setPrototypeOf(ConfiguredApplication.prototype, Function.prototype);
