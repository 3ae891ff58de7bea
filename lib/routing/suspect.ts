import { kFactory } from './middleware-factory';
import type { AnyHandler } from './handler';
import type { Layer } from './layer';
import type { Mount, Registered } from './listing';

/** What is registered and can't do what it was meant to do. */
export type Suspect =
  | { readonly kind: 'factory'; readonly layer: Layer; readonly call: string }
  | { readonly kind: 'no error middleware'; readonly layer: Layer }
  | { readonly kind: 'above all routes'; readonly layer: Layer };

/** Finds what looks like a slip of the program's author. */
export function findSuspects(all: readonly Registered[]): Suspect[] {
  return all.flatMap((registered, position): Suspect[] => {
    const { layer } = registered;
    return [...(layer.route?.stack ?? [layer])].flatMap((each): Suspect[] => {
      const call = (each.handle as { readonly [kFactory]?: string })[kFactory];
      if (call !== undefined) return [{ kind: 'factory', layer: each, call }];
      if (takesError(each.handle)) return [{ kind: 'no error middleware', layer: each }];
      return each === layer && isAboveAll(registered, position, all) ? [{ kind: 'above all routes', layer: each }] : [];
    });
  });
}

/** The first parameter of a function as it is written. */
const FIRST_PARAMETER = /^(?:async\b)?\s*(?:function\b\s*\*?)?\s*[\w$]*\s*\(\s*([\w$]+)/;

/** Whether a function that is no error middleware, for want of a fourth parameter, calls its first one an error. */
function takesError(handle: AnyHandler): boolean {
  if (handle.length === 4 || handle.length < 2) return false;
  const [, name = ''] = FIRST_PARAMETER.exec(Function.prototype.toString.call(handle)) ?? [];
  return /^_?(?:err|error|exception)$/i.test(name);
}

/**
 * Whether error middleware stands above all routes whose errors it could meet.
 * Not where error middleware behind them does: then it is there for what is
 * above it, such as a session.
 */
function isAboveAll({ layer, mount }: Registered, position: number, all: readonly Registered[]): boolean {
  if (layer.route !== undefined || layer.handle.length !== 4) return false;
  const first = all.findIndex((other) => isWithin(other.mount, mount) && (other.layer.route !== undefined || other.layer.mounted !== undefined || other.layer.name === 'mounted_app'));
  if (first === -1 || first < position) return false;
  return !all.some((other, at) => at > first && other.layer.route === undefined && other.layer.handle.length === 4 && isWithin(mount, other.mount));
}

/** Whether a mount is another or lies within it. */
export function isWithin(inner: Mount, outer: Mount): boolean {
  for (let mount: Mount | null = inner; mount !== null; mount = mount.parent) if (mount === outer) return true;
  return false;
}
