/**
 * What a router and an application have in common. What the constructor
 * returns is the given object with the subclass's methods: so an application
 * can be a function and still have private fields.
 */
export abstract class Mountable {
  /** @param target What to turn into one, in place of a new object. */
  constructor(target?: object) {
    if (target !== undefined) return Object.setPrototypeOf(target, new.target.prototype) as Mountable;
  }
}
