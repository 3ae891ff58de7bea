import { HttpError } from '../errors';
import { hasOrigin, isDisputed } from '../target/target';
import { type ApplicationRoot, type Caller, kRun, type RemovedPrefix, targetBeneath } from './caller';

/**
 * Goes on with the method and target that were admitted last; asks the scopes for others.
 * Those are the scopes of this application and of those around it. No function of the program is called for a target not admitted.
 * @param removed The prefix that the program removed before it called by hand; null when unknown.
 */
export function admit(run: Caller, goOn: () => void, removed?: RemovedPrefix | null): void {
  admitTarget(run, removed === undefined ? () => run.target : () => targetBeneath(run, removed, run.req.url), goOn);
}

/**
 * Admits a request before a function of the program, or another framework, gets it back. Frameworks restore a changed URL
 * differently if it has an origin, or was a mount path alone: its target is unknown.
 * @param entered The URL on entry.
 */
export function admitBehind(run: Caller, entered: string, goOn: () => void): void {
  admitTarget(run, () => {
    const { url } = run.req;
    const isKnown = url === entered || !(hasOrigin(url) || hasOrigin(entered) || entered === '/' || entered.startsWith('/?'));
    return isKnown ? run.target : null;
  }, goOn);
}

/** @param read Reads the target; null when unknown. */
function admitTarget(run: Caller, read: () => string | null, goOn: () => void): void {
  const root = run.root as ApplicationRoot;
  const { admission } = root;
  const { req } = run;
  if (admission.isPending) return;
  const { method } = req;
  const target = read();
  if (target !== null && target === root.admittedTarget && method === root.admittedMethod) return resume(run, goOn);
  if (target !== null && isDisputed(target)) return run.fail(HttpError.of('DISPUTED_PATH'));
  admission.isPending = true;
  askScopes(root, method, target, () => {
    admission.isPending = false;
    // The program may have changed the target while a replay store answered.
    if (read() === target && req.method === method) resume(run, goOn);
    else admitTarget(run, read, goOn);
  });
}

/** Goes on in a run. A run that goes on late has been left meanwhile, but calls within its application. */
function resume(run: Caller, goOn: () => void): void {
  run.req[kRun] = run;
  goOn();
}

/** Asks an application, then those around it. */
function askScopes(root: ApplicationRoot, method: string, target: string | null, admitted: () => void): void {
  root.ask(method, target, () => {
    const outer = root.parent?.root ?? null;
    const done = (): void => {
      root.admittedMethod = method;
      root.admittedTarget = target ?? undefined;
      admitted();
    };
    if (outer === null || !outer.isChecked) return done();
    const around = target === null ? null : targetBeneath(root.parent, root.entered, target);
    if (around !== null && around === outer.admittedTarget && method === outer.admittedMethod) done();
    else askScopes(outer, method, around, done);
  });
}
