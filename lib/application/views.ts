import { posix } from 'node:path';
import { inspect } from 'node:util';
import type { HostApplication, RenderCallback } from '../http/host-application';
import { dotted, missingView, type View, type ViewEngine, type ViewOptions } from './view';

/** What a class in the setting `view` makes: where there is no `path`, there is no such view. */
export type RenderableView = Partial<Pick<View, 'path' | 'root'>> & Pick<View, 'render'>;

/** What the setting `view` holds. */
export type ViewClass = new (name: string, options: ViewOptions) => RenderableView;

/** Views by name, and engines by extension. */
export interface ViewHost extends HostApplication {
  readonly engines: Record<string, ViewEngine>;
  readonly cache: Record<string, RenderableView>;
}

/** @throws TypeError for what is no extension, or no function. */
export function addEngine(host: ViewHost, extension: string, engine: ViewEngine): void {
  if (typeof extension !== 'string' || extension === '') throw new TypeError(`engine() needs an extension such as "html", got ${inspect(extension)}`);
  if (typeof engine !== 'function') throw new TypeError(`engine(${inspect(extension)}, …) got ${inspect(engine)}: callback function required, such as (path, options, callback) => …`);
  host.engines[dotted(extension)] = engine;
}

/** Renders a view with the application's locals, those of a response under `_locals`, and the options, the later before the earlier. */
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
    failed(missingView(view, name));
    return;
  }
  if (locals['cache'] && isPlain(name)) host.cache[name] = view;
  try {
    view.render(locals, done);
  } catch (error) {
    failed(error);
  }
}

/** Whether a name is the usual one of its view: a client that gives names could fill the memory with the others, `a/../a/../index`. */
function isPlain(name: string): boolean {
  const plain = posix.normalize(name);
  return name === plain || name === `./${plain}`;
}
