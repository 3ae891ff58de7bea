/**
 * What `req.app` and `res.app` show of the application: what middleware of
 * other packages asks it for. A program that needs more keeps its own `app`.
 */
export interface HostApplication {
  /** Values for the whole application, such as what its views would be given. */
  locals: Record<string, unknown>;
  /** The settings as they stand; to change one, `set` it. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The path, or the paths, that it is mounted at in another; `/` where it is not. */
  readonly mountpath: string | RegExp | readonly (string | RegExp)[];
  /** The value of a setting. */
  get(name: string): unknown;
  /** Changes a setting. */
  set(name: string, value: unknown): unknown;
  /** Whether a setting is truthy. */
  enabled(name: string): boolean;
  /** Whether a setting is falsy. */
  disabled(name: string): boolean;
  /** The path of the application as mounted, from the outermost on. */
  path(): string;
}

/** What a request or response without an application answers by. */
export const NO_APPLICATION: HostApplication = Object.freeze({
  locals: Object.freeze({}),
  settings: Object.freeze({}),
  mountpath: '/',
  get: () => undefined,
  set: () => NO_APPLICATION,
  enabled: () => false,
  disabled: () => true,
  path: () => '',
});
