import { HttpError } from '../errors';
import { isDisputed } from '../target';
import type { RouterRun } from './run';

/** What a request has to do with signature checks; one for all applications that have it. */
export interface Admission {
  /** Whether a check has not let the request go on, or not yet: no `next` counts. */
  isPending: boolean;
}

/** The signature checks of one application, as one request meets them. */
export interface AdmissionRoot {
  readonly shared: Admission;
  /** Method and target that were admitted last, as this application reads them. */
  method: string | undefined;
  target: string | undefined;
  /**
   * Asks the scope of the application; calls back when the request has the signatures that the target needs. A refused request has
   * been answered. @param target Null for one that can't be told: it needs all of them.
   */
  ask(method: string, target: string | null, admitted: () => void): void;
}

/**
 * Goes on when method and target are those that were admitted last; else asks the scope of this application and of those around it.
 * No function of the program is called for a target that has not been admitted.
 */
export function admit(run: RouterRun, goOn: () => void): void {
  const admission = run.admission as AdmissionRoot;
  if (admission.shared.isPending) return;
  const { method } = run.req;
  const { target } = run;
  if (isAdmitted(admission, method, target)) return goOn();
  if (target !== null && isDisputed(target)) return run.next(HttpError.of('DISPUTED_PATH'));
  admission.shared.isPending = true;
  ask(run.root, method, target, () => {
    admission.shared.isPending = false;
    // A store or a lookup may have taken its time: it may be another target by now.
    if (run.req.method === method && run.target === target) goOn();
    else admit(run, goOn);
  });
}

function isAdmitted({ method, target }: AdmissionRoot, wantedMethod: string, wantedTarget: string | null): boolean {
  return wantedTarget !== null && wantedTarget === target && wantedMethod === method;
}

/** Asks an application, then those around it. */
function ask(root: RouterRun, method: string, target: string | null, admitted: () => void): void {
  const admission = root.admission as AdmissionRoot;
  admission.ask(method, target, () => {
    const around = root.parent;
    const done = (): void => {
      admission.method = method;
      admission.target = target ?? undefined;
      admitted();
    };
    if (around === undefined || around.admission === null) return done();
    const outer = target === null ? null : root.targetAround(target);
    if (isAdmitted(around.admission, method, outer)) done();
    else ask(around.root, method, outer, done);
  });
}
