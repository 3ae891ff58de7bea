import { inspect } from 'node:util';

/**
 * Holds a status code to what Node can send.
 *
 * @throws TypeError when it is no integer.
 * @throws RangeError when it is not from 100 to 999.
 */
export function checkStatus(code: unknown): asserts code is number {
  if (!Number.isInteger(code)) {
    throw new TypeError(`Invalid status code ${inspect(code)}: give an integer from 100 to 999`);
  }
  if ((code as number) < 100 || (code as number) > 999) {
    throw new RangeError(`Invalid status code ${String(code)}: give one from 100 to 999`);
  }
}
