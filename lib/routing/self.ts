/** What has private fields, for what stands around it or inherits from it: a Proxy, or what a program makes by `Object.create`. */
const kSelf = Symbol('waypost.self');

interface Known {
  /** In an object: a handler of a Proxy may bind each function that it finds, and a router is one. */
  readonly [kSelf]?: { readonly self: object };
}

/** Has {@link selfOf} find it, of itself or of what stands for it. */
export function knowSelf(self: object, shown = self): void {
  Object.defineProperty(shown, kSelf, { value: { self }, configurable: true });
}

/** The object itself, which has the private fields. */
export function selfOf<T extends object>(given: T): T {
  return ((given as Known)[kSelf]?.self ?? given) as T;
}

/** Has the methods and accessors of a prototype work on the object itself. What returns it returns what it was called on. */
export function callOnSelf(prototype: object, { except }: { readonly except: readonly string[] }): void {
  for (const name of Object.getOwnPropertyNames(prototype)) {
    if (name === 'constructor' || except.includes(name)) continue;
    const member: { [part: string]: unknown } = { ...Object.getOwnPropertyDescriptor(prototype, name) };
    for (const part of ['value', 'get', 'set']) {
      if (typeof member[part] === 'function') member[part] = onSelf(member[part] as Method);
    }
    Object.defineProperty(prototype, name, member);
  }
}

/** Has a method of a prototype replaced not unheard, on the prototype or on one object; returns the method. */
export function heard<T extends object>(prototype: T, name: string, hear: (object: T) => void): unknown {
  const own: unknown = Reflect.get(prototype, name);
  Object.defineProperty(prototype, name, {
    get: () => own,
    set(this: T, value: unknown) {
      replace(this, name, value, hear);
    },
    configurable: true,
  });
  return own;
}

/** Gives an object one of its own, which may be replaced again. */
function replace<T extends object>(owner: T, name: string, value: unknown, hear: (object: T) => void): void {
  let current = value;
  Object.defineProperty(owner, name, {
    get: () => current,
    set(this: T, next: unknown) {
      if (selfOf(this) === selfOf(owner)) {
        current = next;
        hear(selfOf(owner));
      } else {
        replace(this, name, next, hear);
      }
    },
    configurable: true,
    enumerable: true,
  });
  hear(selfOf(owner));
}

type Method = (this: object, ...given: unknown[]) => unknown;

function onSelf(method: Method): Method {
  const called: Method = function (...given) {
    const self = selfOf(this);
    const result = method.apply(self, given);
    return result === self ? this : result;
  };
  // As tools and stacks name it.
  return Object.defineProperties(called, { name: { value: method.name }, length: { value: method.length } });
}
