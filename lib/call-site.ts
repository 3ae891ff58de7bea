import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Frames that are kept: those of waypost's own methods, and the program's that has called them. Each costs memory for each registration. */
const FRAMES = 8;
/** Folder of waypost itself, as compiled or as text. Bundled into a program's ES module it can't be told apart, and every file counts as its own. */
const OWN = typeof __filename === 'string' ? dirname(__filename) + sep : '';

/**
 * The place of a program's call of waypost. V8's own form of it is kept: text
 * costs a hundred times as much, and few are ever read.
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

  /** Writes it as text: V8's form holds on to all that the functions were called on, such as the request that has registered something. */
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
  return fileURLToPath(url) + position;
}
