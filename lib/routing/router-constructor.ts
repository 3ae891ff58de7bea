import { markFactory } from './middleware-factory';
import { Route } from './route';
import { Router as RouterClass } from './router';
import type { RouterOptions } from './rules';

/** Constructor of routers: it may be called with or without `new`, and extended. */
export interface RouterConstructor {
  /** Makes a router: a group of routes and middleware that `app.use(path, router)` mounts (INTERFACE section 4.1). */
  new (options?: RouterOptions): RouterClass;
  (options?: RouterOptions): RouterClass;
  /** Prototype of all routers. */
  readonly prototype: RouterClass;
  /** Class of the routes that `route(path)` returns. */
  readonly Route: typeof Route;
}

/** See {@link RouterConstructor}: a class could not be called without `new`. */
export const Router = function Router(this: unknown, options?: RouterOptions): RouterClass {
  return Reflect.construct(RouterClass, [options], new.target ?? RouterClass) as RouterClass;
} as unknown as RouterConstructor;

Object.defineProperties(Router, { prototype: { value: RouterClass.prototype }, Route: { value: Route } });
Object.defineProperty(RouterClass.prototype, 'constructor', { value: Router, writable: true, configurable: true });
markFactory(Router, 'Router()');
