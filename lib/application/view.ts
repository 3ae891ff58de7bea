import { statSync, type Stats } from 'node:fs';
import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path';
import { isBeneath } from '../http/file/confinement';
import type { RenderCallback } from '../http/host-application';

/** Renders a file: engines of Express are such functions. What it returns counts only where it is a promise that is rejected: that is an error. */
export type ViewEngine = (path: string, options: object, callback: (error?: unknown, rendered?: string) => void) => unknown;

/** What a view is made by; a class of the program's own, in the setting `view`, gets the same. */
export interface ViewOptions {
  /** The setting `view engine`: the extension of names that have none. */
  defaultEngine?: string | undefined;
  /** The setting `views`: the directory that views stand in, or several, the first that has one first. */
  root: string | readonly string[];
  /** The engines by extension, dot included. One that is missing is added when a view needs it. */
  engines: Record<string, ViewEngine>;
  /** The setting `absolute views`. @default false */
  absolute?: boolean | undefined;
}

/** A template file and the engine that renders it; what the setting `view` is unless a program has set it. */
export class View {
  readonly name: string;
  /** Where it is looked for: a directory, or several. */
  readonly root: string | readonly string[];
  readonly defaultEngine: string | undefined;
  /** Extension, dot included. */
  readonly ext: string;
  /** The file; undefined where there is none, or none that the name may lead to. */
  readonly path: string | undefined;
  /** Undefined where there is no file. */
  readonly engine: ViewEngine | undefined;
  readonly absolute: boolean;

  /** @throws Error where neither the name nor `view engine` says which engine, and where that can't be loaded. */
  constructor(name: string, { defaultEngine, root, engines, absolute = false }: ViewOptions) {
    const own = extname(name);
    if (own === '' && !defaultEngine) {
      throw new Error(`No default engine was specified and no extension was provided for the view "${name}": write app.set('view engine', 'pug'), or render("${name}.pug")`);
    }
    this.name = name;
    this.root = root;
    this.defaultEngine = defaultEngine;
    this.absolute = absolute;
    this.ext = own === '' ? dotted(defaultEngine as string) : own;
    this.path = this.lookup(own === '' ? name + this.ext : name);
    // Behind the look-up, so that a name that a client gives loads no package but for a file that is there.
    this.engine = this.path === undefined ? undefined : (engines[this.ext] ??= loadEngine(this.ext, this.root));
  }

  /** The file of that name in the first root that has it; undefined for none, and for one outside of every root. */
  lookup(name: string): string | undefined {
    const roots = rootsOf(this.root);
    for (const root of roots) {
      const location = resolve(root, name);
      const isFree = this.absolute && isAbsolute(name);
      if (!isFree && !isOpen(location, roots)) continue;
      const found = this.resolve(dirname(location), basename(location));
      // Of "..", with its extension "...pug", the directory whose index is looked for is the one above.
      if (found !== undefined && (isFree || isOpen(found, roots))) return found;
    }
    return undefined;
  }

  /** The file in a directory, or the index of the directory that is named as it. */
  resolve(directory: string, file: string): string | undefined {
    return [join(directory, file), join(directory, basename(file, this.ext), `index${this.ext}`)].find((path) => statOf(path)?.isFile() === true);
  }

  /** Renders it. The callback is called later than this returns, whatever the engine does. */
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
      // What the callback has thrown is no failure of the engine's.
      if (hasCalled) throw error;
      (callback as (error: unknown) => void)(error);
    });
  }
}

/** An extension with its dot. */
export function dotted(extension: string): string {
  return extension.startsWith('.') ? extension : `.${extension}`;
}

/** Why no file was found, in Express's words. */
export function missingView(view: Partial<Pick<View, 'root'>>, name: string): Error {
  const roots = rootsOf(view.root ?? '');
  const quoted = roots.slice(0, -1).map((root) => `"${root}"`).join(', ');
  const where = roots.length > 1 ? `directories ${quoted} or "${String(roots.at(-1))}"` : `directory "${String(roots[0])}"`;
  return Object.assign(new Error(`Failed to lookup view "${name}" in views ${where}`), { view });
}

function isOpen(location: string, roots: readonly string[]): boolean {
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
    // A linked waypost stands elsewhere than the program's packages.
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
