import { kFactory } from '../middleware-factory';
import type { Layer } from './layer';
import { within } from './mount';
import type { RouteTable } from './route-table';

/** What is registered and can't do what it was meant to do. */
export type Suspect =
  | { readonly kind: 'factory'; readonly layer: Layer; readonly call: string }
  | { readonly kind: 'no error middleware'; readonly layer: Layer }
  | { readonly kind: 'above all routes'; readonly layer: Layer };

/** Finds what looks like a slip of the program's author. */
export function findSuspects({ layers }: RouteTable): Suspect[] {
  return layers.flatMap((layer): Suspect[] => {
    const call = (layer.handler as { readonly [kFactory]?: string })[kFactory];
    if (call !== undefined) return [{ kind: 'factory', layer, call }];
    if (takesError(layer)) return [{ kind: 'no error middleware', layer }];
    return isAboveAll(layer, layers) ? [{ kind: 'above all routes', layer }] : [];
  });
}

/** The first parameter of a function as it is written. */
const FIRST_PARAMETER = /^(?:async\b)?\s*(?:function\b\s*\*?)?\s*[\w$]*\s*\(\s*([\w$]+)/;

/** Whether a function that is no error middleware, for want of a fourth parameter, calls its first one an error. */
function takesError({ handler, catches }: Layer): boolean {
  if (catches || handler.length < 2) return false;
  const [, name = ''] = FIRST_PARAMETER.exec(Function.prototype.toString.call(handler)) ?? [];
  return /^_?(?:err|error|exception)$/i.test(name);
}

/**
 * Whether error middleware stands above all routes whose errors it could meet.
 * Not where error middleware behind them does: then it is there for what is
 * above it, such as a session.
 */
function isAboveAll(layer: Layer, layers: readonly Layer[]): boolean {
  if (!layer.catches || layer.place !== null) return false;
  const routes = layers.filter((other) => !other.catches && within(other.mount, layer.mount) && (other.place !== null || other.routes));
  const [first] = routes;
  if (first === undefined || first.mark.order < layer.mark.order) return false;
  return !layers.some((other) => other.catches && other.place === null && other.mark.order > first.mark.order && within(layer.mount, other.mount));
}
