import { HttpError } from '../errors';
import { hasOrigin, isDisputed } from '../target/target';
import { type ApplicationRoot, type Caller, kRun, type Removed, targetBeneath } from './caller';

/**
 * Goes on when method and target are those that were admitted last; else asks the scope of this application and of those around it.
 * No function of the program is called for a target that has not been admitted.
 * @param removed The prefix that the program has taken off before it called by hand; null where that can't be told.
 */
export function admit(run: Caller, goOn: () => void, removed?: Removed | null): void {
  admitTarget(run, removed === undefined ? () => run.target : () => targetBeneath(run, removed, run.req.url), goOn);
}

/**
 * The same before a request is handed on to a function of the program, or another framework: what that makes of a URL which has an
 * origin, or began as a mount path alone, and was changed within, depends on the framework.
 * @param entered The URL as it was handed in.
 */
export function admitBehind(run: Caller, entered: string, goOn: () => void): void {
  admitTarget(run, () => {
    const { url } = run.req;
    const isTold = url === entered || !(hasOrigin(url) || hasOrigin(entered) || entered === '/' || entered.startsWith('/?'));
    return isTold ? run.target : null;
  }, goOn);
}

/** @param read Reads the target; null for one that can't be told. */
function admitTarget(run: Caller, read: () => string | null, goOn: () => void): void {
  const root = run.root as ApplicationRoot;
  const { admission } = root;
  const { req } = run;
  if (admission.isPending) return;
  const { method } = req;
  const target = read();
  if (target !== null && target === root.admittedTarget && method === root.admittedMethod) return call(run, goOn);
  if (target !== null && isDisputed(target)) return run.fail(HttpError.of('DISPUTED_PATH'));
  admission.isPending = true;
  ask(root, method, target, () => {
    admission.isPending = false;
    // A store of signatures may have taken its time, and the program made another target meanwhile.
    if (read() === target && req.method === method) call(run, goOn);
    else admitTarget(run, read, goOn);
  });
}

/** Goes on in that run: one that went on late has been left meanwhile, and what it calls is within its application all the same. */
function call(run: Caller, goOn: () => void): void {
  run.req[kRun] = run;
  goOn();
}

/** Asks an application, then those around it. */
function ask(root: ApplicationRoot, method: string, target: string | null, admitted: () => void): void {
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
    else ask(outer, method, around, done);
  });
}
