import { Request } from './request';
import { Response } from './response';

/** Methods by which a response leaves. */
export const WRITES: readonly string[] = ['writeHead', 'write', 'end', 'destroy', 'setHeader', 'appendHeader', 'writeContinue', 'flushHeaders'];

/**
 * Whether a message is none of Node's class, or of one made of it that reads or
 * writes otherwise: one of a test without a socket, such as light-my-request's.
 */
export function hasOwnWays(message: object, node: object, ways: readonly string[]): boolean {
  const prototype = Object.getPrototypeOf(message) as object | null;
  // Waypost's own classes are there where another application has put them on.
  if (prototype === node || prototype === Request.prototype || prototype === Response.prototype) return false;
  return prototype === null || ways.some((name) => Object.hasOwn(prototype, name)) || hasOwnWays(prototype, node, ways);
}

/**
 * A prototype for such a message: it has what an application's requests or
 * responses have, and before that its own ways.
 * @param own What the application's inherit from. @param node The class of Node's at the end of it.
 */
export function layered(message: object, own: object, node: object, ways: readonly string[]): object {
  const foreign = Object.getPrototypeOf(message) as object;
  const prototype = Object.create(foreign) as object;
  const chain: object[] = [];
  for (let each: object | null = own; each !== null && each !== node; each = Object.getPrototypeOf(each) as object | null) chain.unshift(each);
  for (const each of chain) {
    for (const key of Reflect.ownKeys(each)) {
      if (key === 'constructor' || ways.includes(key as string)) continue;
      Object.defineProperty(prototype, key, Object.getOwnPropertyDescriptor(each, key) as PropertyDescriptor);
    }
  }
  // What is asked for before anything else; a request that somebody has made of nothing may lack it.
  if (!('rawHeaders' in message)) Object.defineProperty(prototype, 'rawHeaders', { value: [], writable: true, configurable: true });
  return prototype;
}
