import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Frames that are kept: those of waypost's own methods, and the program's that has called them. Each costs memory for each registration. */
const FRAMES = 8;
/** Where waypost itself lies, as compiled or as text. Bundled into a program's ES module it can't be told apart, and every file counts as its own. */
const OWN = typeof __filename === 'string' ? dirname(__filename) + sep : '';

/**
 * Where a program has called waypost. What V8 knows of it is kept as it is: to
 * write it as text costs a hundred times as much, and few are ever read.
 */
export class CallSite {
  #trace: { stack?: unknown } = {};

  constructor() {
    const { stackTraceLimit } = Error;
    // Node's --frozen-intrinsics keeps the limit as it is.
    const isSet = Reflect.set(Error, 'stackTraceLimit', FRAMES);
    Error.captureStackTrace(this.#trace, CallSite);
    if (isSet) Error.stackTraceLimit = stackTraceLimit;
  }

  /** Writes it as text after all: what V8 keeps holds on to all that the functions were called on, such as the request that has registered something. */
  settle(): void {
    const { stack } = this.#trace;
    this.#trace = { stack };
  }

  /** File, line and column, as editors and terminals open them; undefined where the stack does not tell. */
  get place(): string | undefined {
    return placeIn(this.#trace.stack);
  }
}

/** The first place of a stack that is neither waypost's nor Node's: file, line and column. */
export function placeIn(stack: unknown): string | undefined {
  if (typeof stack !== 'string') return undefined;
  for (const line of stack.split('\n')) {
    const [, file] = /^ +at (?:.*\()?(.*:\d+:\d+)\)?$/.exec(line) ?? [];
    if (file !== undefined && !file.startsWith('node:') && !pathOf(file).startsWith(OWN)) return pathOf(file);
  }
  return undefined;
}

function pathOf(file: string): string {
  if (!file.startsWith('file:')) return file;
  const [, url = file, position = ''] = /^(.*?)((?::\d+){2})$/.exec(file) ?? [];
  try {
    return fileURLToPath(url) + position;
  } catch {
    return file;
  }
}
