import { kFactory } from './middleware-factory';
import type { AnyHandler } from './handler';
import type { Layer } from './layer';
import type { Mount, Registered } from './listing';

/** A registration that can't work as its author meant. */
export type Suspect =
  | { readonly kind: 'factory'; readonly layer: Layer; readonly call: string }
  | { readonly kind: 'no error middleware'; readonly layer: Layer }
  | { readonly kind: 'above all routes'; readonly layer: Layer };

/** Finds registrations that look like mistakes. */
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

/** The first parameter in a function's source. */
const FIRST_PARAMETER = /^(?:async\b)?\s*(?:function\b\s*\*?)?\s*[\w$]*\s*\(\s*([\w$]+)/;

/** Returns true for a function without a fourth parameter whose first is named an error. */
function takesError(handle: AnyHandler): boolean {
  if (handle.length === 4 || handle.length < 2) return false;
  const [, name = ''] = FIRST_PARAMETER.exec(Function.prototype.toString.call(handle)) ?? [];
  return /^_?(?:err|error|exception)$/i.test(name);
}

/**
 * Returns true for error middleware above all routes whose errors it could meet.
 * With error middleware behind them it is meant for the layers above it, such as
 * a session.
 */
function isAboveAll({ layer, mount }: Registered, position: number, all: readonly Registered[]): boolean {
  if (layer.route !== undefined || layer.handle.length !== 4) return false;
  const first = all.findIndex((other) => isWithin(other.mount, mount) && (other.layer.route !== undefined || other.layer.mounted !== undefined || other.layer.name === 'mounted_app'));
  if (first === -1 || first < position) return false;
  return !all.some((other, at) => at > first && other.layer.route === undefined && other.layer.handle.length === 4 && isWithin(mount, other.mount));
}

/** Returns true for the same mount, or one within it. */
export function isWithin(inner: Mount, outer: Mount): boolean {
  for (let mount: Mount | null = inner; mount !== null; mount = mount.parent) if (mount === outer) return true;
  return false;
}
