import { posix } from 'node:path';
import { inspect } from 'node:util';
import type { HostApplication, RenderCallback } from '../http/host-application';
import { lookupError, type View, type ViewEngine, type ViewOptions, withDot } from './view';

/** An instance of the class in the setting `view`; without a `path` the view is missing. */
export type RenderableView = Partial<Pick<View, 'path' | 'root'>> & Pick<View, 'render'>;

/** The class in the setting `view`. */
export type ViewClass = new (name: string, options: ViewOptions) => RenderableView;

/** Views by name, and engines by extension. */
export interface ViewHost extends HostApplication {
  readonly engines: Record<string, ViewEngine>;
  readonly cache: Record<string, RenderableView>;
}

/** @throws TypeError for an invalid extension or engine. */
export function addEngine(host: ViewHost, extension: string, engine: ViewEngine): void {
  if (typeof extension !== 'string' || extension === '') throw new TypeError(`engine() needs an extension such as "html", got ${inspect(extension)}`);
  if (typeof engine !== 'function') throw new TypeError(`engine(${inspect(extension)}, …) got ${inspect(engine)}: callback function required, such as (path, options, callback) => …`);
  host.engines[withDot(extension)] = engine;
}

/** Renders a view. Options override a response's locals (`_locals`), which override the application's. */
export function renderView(host: ViewHost, name: string, options: object | null | undefined, done: RenderCallback | undefined): void {
  if (typeof name !== 'string') throw new TypeError(`render() needs the name of a view, got ${inspect(name)}`);
  if (typeof done !== 'function') throw new TypeError(`render(${inspect(name)}, …) needs a callback (error, html), got ${inspect(done)}`);
  const locals: Record<string, unknown> = { ...host.locals, ...(options as { _locals?: object } | null | undefined)?._locals, ...options };
  locals['cache'] ??= host.enabled('view cache');
  const failed = done as (error: unknown) => void;
  const view = (locals['cache'] ? host.cache[name] : undefined) ?? new (host.get('view') as ViewClass)(name, {
    defaultEngine: host.get('view engine') as string | undefined,
    root: host.get('views') as string | readonly string[],
    engines: host.engines,
    absolute: host.enabled('absolute views'),
  });
  if (!view.path) {
    failed(lookupError(view, name));
    return;
  }
  if (locals['cache'] && isNormalized(name)) host.cache[name] = view;
  try {
    view.render(locals, done);
  } catch (error) {
    failed(error);
  }
}

/** True for a normalized name. Only these are cached, so that a client's `a/../a/../index` takes no memory. */
function isNormalized(name: string): boolean {
  const plain = posix.normalize(name);
  return name === plain || name === `./${plain}`;
}
