import type { Paths } from '../routing/given-path';
import { Router } from '../routing/router';
import { isApplication, type MountedApplication } from '../routing/stack';

/** What Express knows an application by, and what it does with one that is mounted. */
interface ForeignApplication extends MountedApplication {
  emit?(event: string, ...given: unknown[]): unknown;
  mountpath: unknown;
  parent: unknown;
  request?: object;
  response?: object;
  settings?: object;
  engines?: unknown;
}

/** Whether it is an application of Express. */
export function isForeign(entry: unknown): entry is ForeignApplication {
  return isApplication(entry);
}

/** Whether it is an application or a router of Express, which finds its routes by itself. */
export function routesByItself(entry: unknown): boolean {
  const { handle, stack, set } = entry as { readonly handle?: unknown; readonly stack?: unknown; readonly set?: unknown };
  return typeof entry === 'function' && typeof handle === 'function' && (typeof set === 'function' || Array.isArray(stack)) && !(entry instanceof Router);
}

/**
 * Tells an application of Express where it is mounted, and keeps what its requests
 * and responses inherit: by itself it would lose methods of its own, such as another `render`.
 */
export function mountForeign(entry: ForeignApplication, path: Paths, parent: object): void {
  entry.mountpath = path;
  entry.parent = parent;
  const { request, response } = entry;
  const [forRequests, forResponses] = [prototypeOf(request), prototypeOf(response)];
  entry.emit?.('mount', parent);
  if (request !== undefined) Object.setPrototypeOf(request, forRequests);
  if (response !== undefined) Object.setPrototypeOf(response, forResponses);
}

function prototypeOf(object: object | undefined): object | null {
  return object === undefined ? null : (Object.getPrototypeOf(object) as object | null);
}
