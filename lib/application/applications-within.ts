import type { Application, Parts } from './application';
import { kRules } from './configured-application';
import { mountedApplication } from './mounting';
import { registrationWarnings } from './registration-warnings';
import type { DescribedApplication } from '../openapi/document';
import { kMounted } from '../routing/layer';
import { describeRoutes, listRegistered, type Registered, type RouteDescription } from '../routing/listing';

/** Returns the parts of an application; undefined for anything else. */
type PartsOf = (made: unknown) => Parts | undefined;

/** Returns the routes of an application in order, as rows. */
export function listRoutes(app: Application): RouteDescription[] {
  return describeRoutes(listRegistered(app[kMounted], app[kRules]));
}

/** Warns of suspicious registrations, here and in mounted applications, each by its own logger. */
export function warnOfRegistrations(outermost: Application, partsOf: PartsOf): void {
  const announced = new Map<Application, string>([[outermost, '']]);
  // A map hands on what is added meanwhile: those that are mounted in one that is mounted.
  for (const [app, at] of announced) {
    const where = app === outermost ? '' : `In the application mounted at ${at || '/'}: `;
    const { hooks, logger, options } = partsOf(app) as Parts;
    const registered = listRegistered(app[kMounted], app[kRules]);
    if (logger.writes('warn')) for (const warning of registrationWarnings(registered, app[kRules], hooks, options.body.parse)) logger.warn(where + warning);
    for (const each of registered) {
      const mounted = mountedIn(each);
      if (partsOf(mounted) !== undefined && !announced.has(mounted as Application)) announced.set(mounted as Application, at + (each.path === '/' ? '' : each.path));
    }
  }
}

/** Returns an application, and those that are mounted in it, with their places. */
export function describeApplications(app: Application, partsOf: PartsOf, outer: DescribedApplication['outer'] = null): DescribedApplication[] {
  const { hooks, options } = partsOf(app) as Parts;
  const registered = listRegistered(app[kMounted], app[kRules]);
  const application: DescribedApplication = { registered, options, hooks, outer };
  return [application, ...registered.flatMap((each) => {
    const mounted = mountedIn(each);
    return partsOf(mounted) === undefined ? [] : each.patterns.flatMap(({ segments }) => describeApplications(mounted as Application, partsOf, { application, segments }));
  })];
}

/** The application that a layer leads to; a router calls it itself. */
function mountedIn({ layer: { origin } }: Registered): unknown {
  return mountedApplication(origin) ?? origin;
}
