import type { ParamHandler } from './handler';
import type { Mount } from './mount';
import type { Path } from './path';
import type { Pattern } from './pattern';
import { namesOf } from './pattern-segment';
import { kParamHandlers } from './registration';

/** One parameter that a router has handlers for, as it stands in the path of a layer. */
export interface ParamHook {
  readonly name: string;
  readonly handlers: readonly ParamHandler[];
  /** Where the router is mounted that has them. */
  readonly mount: Mount;
  /** The paths of the mount whose path holds the parameter; null where that is the path of the layer itself. */
  readonly within: readonly Pattern[] | null;
  /** Of a mount: the parameters of the mounts around it, as they stand there. */
  readonly around: readonly ParamHook[];
  /** The names that paths further in capture. */
  readonly beneath: ReadonlySet<string>;
}

export const NO_NAMES: ReadonlySet<string> = new Set();

/** The parameters in a path, or in any of several, that the router at a mount has handlers for. */
export function hooksFor(mount: Mount, patterns: readonly Pattern[]): ParamHook[] {
  const params = mount.router[kParamHandlers];
  if (params.size === 0) return [];
  return [...namesIn(patterns)].flatMap((name) => {
    const handlers = params.get(name);
    return handlers === undefined ? [] : [{ name, handlers, mount, within: null, around: [], beneath: NO_NAMES }];
  });
}

/** The hooks of a mount's path, as what stands in it under these paths finds them. */
export function hooksBeneath({ hooks, patterns: prefixes }: Mount, patterns: readonly Pattern[]): readonly ParamHook[] {
  if (hooks.length === 0) return hooks;
  const names = namesIn(patterns);
  return hooks.map((hook) => ({ ...hook, ...(hook.within === null ? { within: prefixes, around: hooks } : {}), beneath: new Set([...hook.beneath, ...names]) }));
}

function namesIn(patterns: readonly Pattern[]): Set<string> {
  return new Set(patterns.flatMap(({ segments }) => namesOf(segments)));
}

/** The parameters of those paths, of several each, that a request has taken, in their order there. */
export function hooksOf(hooks: readonly ParamHook[], path: Path, own: Pattern | undefined): readonly ParamHook[] {
  return [...new Set(hooks.map(({ within }) => within))].flatMap((within) => {
    const taken = within === null ? own : prefixAt(within, path, own);
    const names = ownNames(taken);
    const among = hooks.filter((hook) => hook.within === within);
    const ordered = names === null ? among : names.flatMap((name) => among.filter((hook) => hook.name === name));
    return within === null ? ordered : ordered.map((hook) => ({ ...hook, around: hooksOf(hook.around, path, taken), beneath: namesBehind(own, taken) ?? hook.beneath }));
  });
}

/** Which of the paths of a mount a path within was reached by. */
export function prefixAt(within: readonly Pattern[], path: Path, own: Pattern | undefined): Pattern | undefined {
  if (within.length === 1) return within[0];
  return within.find((pattern) => isBegun(own, pattern)) ?? within.find((pattern) => pattern.matchesPrefix(path));
}

/** Whether a path is one within another. */
function isBegun(inner: Pattern | undefined, { segments }: Pattern): boolean {
  return segments.every((segment, index) => segment === inner?.segments[index]);
}

/** What a path captures behind the one that it is within; undefined where that can't be told apart. */
function namesBehind(inner: Pattern | undefined, outer: Pattern | undefined): ReadonlySet<string> | undefined {
  if (inner === undefined || outer === undefined || !isBegun(inner, outer)) return undefined;
  return new Set(namesOf(inner.segments.slice(outer.segments.length)));
}

/** The names that a path captures behind that of the mount it is in; null where that can't be told apart. */
function ownNames(pattern: Pattern | undefined): readonly string[] | null {
  if (pattern === undefined || (pattern.tail !== undefined && pattern.mountLength === pattern.segments.length)) return null;
  return [...new Set(namesOf(pattern.segments.slice(pattern.mountLength)))];
}
