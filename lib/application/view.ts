import { statSync, type Stats } from 'node:fs';
import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path';
import { isBeneath } from '../http/file/confinement';
import type { RenderCallback } from '../http/host-application';

/** A template engine as in Express. Of a returned value only a rejected promise counts, as an error. */
export type ViewEngine = (path: string, options: object, callback: (error?: unknown, rendered?: string) => void) => unknown;

/** Options of a view's constructor, also of a class in the setting `view`. */
export interface ViewOptions {
  /** The setting `view engine`: the extension of names without one. */
  defaultEngine?: string | undefined;
  /** The setting `views`: the directory of views, or several in order of search. */
  root: string | readonly string[];
  /** Engines by extension, dot included. A view adds a missing engine. */
  engines: Record<string, ViewEngine>;
  /** The setting `absolute views`. @default false */
  absolute?: boolean | undefined;
}

/** A template file and its engine; the default of the setting `view`. */
export class View {
  readonly name: string;
  /** The directory to search, or several. */
  readonly root: string | readonly string[];
  readonly defaultEngine: string | undefined;
  /** Extension, dot included. */
  readonly ext: string;
  /** The file; undefined if absent or outside of every root. */
  readonly path: string | undefined;
  /** Undefined without a file. */
  readonly engine: ViewEngine | undefined;
  readonly absolute: boolean;

  /** @throws Error for a name without extension or default engine; for an engine that can't be loaded. */
  constructor(name: string, { defaultEngine, root, engines, absolute = false }: ViewOptions) {
    const extension = extname(name);
    if (extension === '' && !defaultEngine) {
      throw new Error(`No default engine was specified and no extension was provided for the view "${name}": write app.set('view engine', 'pug'), or render("${name}.pug")`);
    }
    this.name = name;
    this.root = root;
    this.defaultEngine = defaultEngine;
    this.absolute = absolute;
    this.ext = extension === '' ? withDot(defaultEngine as string) : extension;
    this.path = this.lookup(extension === '' ? name + this.ext : name);
    // Loads after the lookup, so that a client's name loads no package without a file.
    this.engine = this.path === undefined ? undefined : (engines[this.ext] ??= loadEngine(this.ext, this.root));
  }

  /** The file of that name in the first root that has it; undefined for none, and for one outside of every root. */
  lookup(name: string): string | undefined {
    const roots = rootsOf(this.root);
    for (const root of roots) {
      const location = resolve(root, name);
      const isUnrestricted = this.absolute && isAbsolute(name);
      if (!isUnrestricted && !isInRoots(location, roots)) continue;
      const found = this.resolve(dirname(location), basename(location));
      // The index of a name such as ".." may be outside of the roots.
      if (found !== undefined && (isUnrestricted || isInRoots(found, roots))) return found;
    }
    return undefined;
  }

  /** The file in a directory, or the index of the directory of that name. */
  resolve(directory: string, file: string): string | undefined {
    return [join(directory, file), join(directory, basename(file, this.ext), `index${this.ext}`)].find((path) => statOf(path)?.isFile() === true);
  }

  /** Renders the file. The callback is always asynchronous. */
  render(options: object, callback: RenderCallback): void {
    let isSync = true;
    let hasCalled = false;
    const result = (this.engine as ViewEngine)(this.path as string, options, (...outcome) => {
      hasCalled = true;
      const call = callback as (...outcome: unknown[]) => void;
      if (isSync) process.nextTick(call, ...outcome);
      else call(...outcome);
    });
    isSync = false;
    if (typeof result !== 'object' || result === null) return;
    void Promise.resolve(result).catch((error: unknown) => {
      // A throw of the callback is not the engine's error.
      if (hasCalled) throw error;
      (callback as (error: unknown) => void)(error);
    });
  }
}

/** An extension with its dot. */
export function withDot(extension: string): string {
  return extension.startsWith('.') ? extension : `.${extension}`;
}

/** The error for a missing file, in Express's words. */
export function lookupError(view: Partial<Pick<View, 'root'>>, name: string): Error {
  const roots = rootsOf(view.root ?? '');
  const quoted = roots.slice(0, -1).map((root) => `"${root}"`).join(', ');
  const where = roots.length > 1 ? `directories ${quoted} or "${String(roots.at(-1))}"` : `directory "${String(roots[0])}"`;
  return Object.assign(new Error(`Failed to lookup view "${name}" in views ${where}`), { view });
}

function isInRoots(location: string, roots: readonly string[]): boolean {
  return roots.some((root) => isBeneath(resolve(root), location));
}

function rootsOf(root: string | readonly string[]): readonly string[] {
  return typeof root === 'string' ? [root] : root;
}

/** The package named as the extension, as the program would load it. */
function loadEngine(extension: string, root: string | readonly string[]): ViewEngine {
  const name = extension.slice(1);
  let path: string;
  try {
    // A linked waypost is outside of the program's packages.
    path = require.resolve(name, { paths: [__dirname, process.cwd(), ...rootsOf(root)] });
  } catch (cause) {
    throw Object.assign(new Error(`Cannot find module "${name}", the engine of views with the extension "${extension}": npm install ${name}, or app.engine("${name}", (path, options, callback) => …)`, { cause }), { code: 'MODULE_NOT_FOUND' });
  }
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the program's choice, known only now
  const engine = (require(path) as { __express?: unknown } | undefined)?.__express;
  if (typeof engine === 'function') return engine as ViewEngine;
  throw new Error(`Module "${name}" does not provide a view engine: it has no function __express; write app.engine("${name}", (path, options, callback) => …)`);
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
