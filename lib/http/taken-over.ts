import type { ServerResponse } from 'node:http';

const kTakenOver = Symbol('waypost.response.takenOver');

/** Methods of Node's that throw where the head is out. */
const OF_HEADS = ['setHeader', 'setHeaders', 'appendHeader', 'removeHeader', 'writeHead', 'writeContinue', 'writeProcessing', 'writeEarlyHints', 'writeInformation'] as const;

/**
 * Called before the framework answers a response that a handler still has: its
 * methods then no longer throw, which in the callback of a database would end the
 * process.
 */
export function takeOver(res: ServerResponse): void {
  Reflect.defineProperty(res, kTakenOver, { value: true });
  for (const name of OF_HEADS) {
    const { [name]: method } = res as unknown as Record<string, unknown>;
    if (typeof method !== 'function') continue;
    const value = (...given: unknown[]): unknown => (res.headersSent ? res : Reflect.apply(method, res, given));
    Reflect.defineProperty(res, name, { value, writable: true, configurable: true });
  }
}

/** True for a response that was taken over. */
export function isTakenOver(res: ServerResponse & { readonly [kTakenOver]?: boolean }): boolean {
  return res[kTakenOver] === true;
}
