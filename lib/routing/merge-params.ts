import type { Params } from './patterns/params';

/**
 * Merges the parameters of a router into those around it. Inner names override
 * outer ones; inner indices, of expressions, continue the outer ones.
 */
export function mergeParams(outer: Params, inner: Params): Params {
  if (!('0' in inner) || !('0' in outer)) return { ...outer, ...inner };
  const from = countOf(outer);
  const merged: Params = { ...outer };
  for (const [name, value] of Object.entries(inner)) merged[isIndex(name, inner) ? String(Number(name) + from) : name] = value;
  return merged;
}

/** Returns true for an object with names. Other frameworks may assign any value to req.params. */
export function hasNames(given: object): boolean {
  if (typeof (given as unknown) === 'object') for (const _ in given) return true;
  return false;
}

function countOf(params: Params): number {
  let count = 0;
  while (String(count) in params) count++;
  return count;
}

function isIndex(name: string, params: Params): boolean {
  return /^\d+$/.test(name) && Number(name) < countOf(params);
}
