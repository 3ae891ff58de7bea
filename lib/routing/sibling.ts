import { type Mount, within } from './layer';

/** The mount whose middleware a mount's counts as: its own, or for a bundle that of the router with routes around it. */
export function homeOf(mount: Mount): Mount {
  return mount.bundle && mount.parent !== null ? homeOf(mount.parent) : mount;
}

/**
 * Whether middleware at a mount is met on the way to a route at another: one of them is the other or lies within it.
 * A guard in one router never leaks into its sibling (INTERFACE section 4.1).
 */
export function meetsRoute(middleware: Mount, route: Mount): boolean {
  const home = homeOf(middleware);
  return within(home, route) || within(route, home);
}
