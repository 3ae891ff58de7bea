import type { ApplicationAdditions } from './additions';
import type { Unchecked } from './unchecked';

/** Told what a view has become, or why it can't be rendered; there is no text then. A method's type, so that a program may take the error for one that is there. */
export type RenderCallback = {
  /** Called with the text, or with the error. */
  call(error: Error | null | undefined, html: string): unknown;
}['call'];

/**
 * Application as `req.app` and `res.app` show it: what middleware of other
 * packages asks for. A program that needs more keeps its own `app`.
 */
export interface HostApplication extends ApplicationAdditions {
  /** Values for the whole application, its views among them. */
  locals: Express.Locals & Record<string, Unchecked>;
  /** The settings as they stand; to change one, `set` it. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The path, or the paths, that it is mounted at in another; `/` where it is not. */
  readonly mountpath: string | RegExp | readonly (string | RegExp)[];
  /** The value of a setting. */
  get(name: string): Unchecked;
  /** Changes a setting. */
  set(name: string, value: unknown): unknown;
  /** True if a setting is truthy. */
  enabled(name: string): boolean;
  /** True if a setting is falsy. */
  disabled(name: string): boolean;
  /** The path of the application as mounted, from the outermost on. */
  path(): string;
  /** Renders a view, for the callback. */
  render(name: string, callback: RenderCallback): void;
  /** The same with values for the view. */
  render(name: string, options: object | null | undefined, callback: RenderCallback): void;
}

/** Application of a request or response that has none. */
export const NO_APPLICATION: HostApplication = Object.freeze({
  locals: Object.freeze({}),
  settings: Object.freeze({}),
  mountpath: '/',
  get: () => undefined,
  set: () => NO_APPLICATION,
  enabled: () => false,
  disabled: () => true,
  path: () => '',
  render(name: string): void {
    throw new Error(`The view "${name}" can't be rendered: the response belongs to no application`);
  },
});
