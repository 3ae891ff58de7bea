import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { Walk } from './walk';

/** Another target for a walk, made by what is mounted in its application, as the check of signatures takes it. */
export class Retarget {
  readonly method: string;
  readonly url: string;
  /** Called when the request has all the signatures that the target needs. */
  readonly admitted: () => void;
  readonly #walk: Walk;

  constructor(walk: Walk, method: string, url: string, admitted: () => void) {
    this.#walk = walk;
    this.method = method;
    this.url = url;
    this.admitted = admitted;
  }

  get req(): Request {
    return this.#walk.req;
  }

  get res(): Response {
    return this.#walk.res;
  }

  /** What the request has passed it has passed for the walk: nothing is checked twice. */
  get checked(): object[] | null {
    return this.#walk.checked;
  }

  set checked(checked: object[] | null) {
    this.#walk.checked = checked;
  }
}
