import { assign } from '../http/assignable';
import { late } from '../packages';

const habits = late(() => require('./foreign-method') as typeof import('./foreign-method'));

/**
 * Methods of other frameworks. Names by which packages detect a framework are left out: `callback` (Koa's).
 */
const FOREIGN_METHODS = [
  'register', 'decorate', 'decorateRequest', 'decorateReply', 'addHook', 'setErrorHandler', 'setNotFoundHandler', 'addContentTypeParser', 'addSchema', 'setValidatorCompiler', 'setSerializerCompiler', 'printRoutes', 'ready',
  'onError', 'notFound', 'basePath',
] as const;

/** Name of a method that another framework has. */
export type ForeignMethod = (typeof FOREIGN_METHODS)[number];

/** The warning for a listener that is never called. @throws TypeError for a route, as Hono registers it. */
export function warningOf(event: unknown, listener: unknown): string | undefined {
  if (typeof listener === 'string') throw new TypeError('app.on() takes an event and a function: write app.get(path, handler) for Hono\'s app.on(method, path, handler)');
  return event === 'error' ? 'app.on("error", …) hears nothing, other than in Koa: write error middleware below the routes, app.use((error, req, res, next) => …)' : undefined;
}

const THROWING_METHODS: PropertyDescriptorMap = Object.fromEntries(FOREIGN_METHODS.map((name) => {
  const method = (): never => { throw habits().errorFor(name); };
  return [name, { configurable: true, get: () => method, set(this: object, value: unknown) { assign(this, name, value); } }];
}));

/**
 * Makes such calls throw a TypeError. Uses own properties, since packages look
 * for some of these names on the prototype of Express's applications.
 */
export function answerHabits<App extends object>(app: App): App {
  return Object.defineProperties(app, THROWING_METHODS);
}
