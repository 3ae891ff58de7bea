import { knowSelf } from './self';

/**
 * What a router and an application have in common: both are functions. What the
 * constructor returns is the given one with the subclass's methods, and private
 * fields of its own.
 */
export abstract class Mountable {
  constructor(target: (...given: never[]) => unknown) {
    knowSelf(target);
    return Object.setPrototypeOf(target, new.target.prototype) as Mountable;
  }
}

// `call`, `apply` and what else a function has: Node and others call it by these.
Object.setPrototypeOf(Mountable.prototype, Function.prototype);
