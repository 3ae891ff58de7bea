import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { types } from 'node:util';
import { bindContext } from '../../async-context';

/**
 * Guards a pipe from a file to the response against throws. A write may throw, such as for a head that Node refuses.
 * The file system calls then: from Node 24 on a pipe destroys the response unheard, and before that the process ended.
 * @param failed Called with what was thrown; it ends the file, or the response.
 */
export function guardPipe(file: Readable, res: ServerResponse, failed: (error: Error) => void): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called by Reflect.apply
  const { write, end } = res;
  const guarded = (method: (...given: never[]) => unknown, none: unknown) => (...given: readonly unknown[]): unknown => {
    try {
      return Reflect.apply(method, res, given) as unknown;
    } catch (error) {
      leave();
      failed(asError(error));
      return none;
    }
  };
  const guards = { write: guarded(write, false), end: guarded(end, res) } as Pick<ServerResponse, 'end' | 'write'>;
  const leave = (): void => {
    if (res.write === guards.write) res.write = write;
    if (res.end === guards.end) res.end = end;
  };
  Object.assign(res, guards);
  // A pipe resumes after `drain` in another async context: the socket's, or the former response's.
  file.emit = bindContext(file.emit.bind(file), 'waypost.file');
  file.once('close', leave);
}

/** Makes an Error of anything thrown. `String` would throw for an object that can't become text. */
export function asError(thrown: unknown): Error {
  if (types.isNativeError(thrown)) return thrown;
  if (typeof thrown === 'string') return new Error(thrown);
  const isObject = (typeof thrown === 'object' && thrown !== null) || typeof thrown === 'function';
  return new Error(`${isObject ? typeof thrown : String(thrown)} was thrown, which is no Error`, { cause: thrown });
}
