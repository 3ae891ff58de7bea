import { AsyncResource } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { types } from 'node:util';

/**
 * Guards a pipe from a file to the response against throws. A write may throw, such as for a head that Node refuses.
 * The file system calls then: from Node 24 on a pipe destroys the response unheard, and before that the process ended.
 * @param failed Called with what was thrown; it ends the file, or the response.
 */
export function guardPipe(file: Readable, res: ServerResponse, failed: (error: Error) => void): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called by Reflect.apply
  const own: Methods = { write: res.write, end: res.end };
  const fail = (error: unknown): void => {
    leave();
    failed(asError(error));
  };
  const stand = (name: keyof Methods, none: unknown) => (...given: readonly unknown[]): unknown => {
    try {
      return Reflect.apply(own[name], res, given) as unknown;
    } catch (error) {
      fail(error);
      return none;
    }
  };
  const guarded = { write: stand('write', false), end: stand('end', res) } as Methods;
  const leave = (): void => {
    for (const name of ['write', 'end'] as const) if (res[name] === guarded[name]) Object.assign(res, { [name]: own[name] });
  };
  Object.assign(res, guarded);
  // A pipe resumes after `drain` in another async context: the socket's, or the former response's.
  const emit = AsyncResource.bind(file.emit.bind(file), 'waypost.file');
  Object.assign(file, {
    emit(...given: Parameters<Readable['emit']>): boolean {
      try {
        return emit(...given);
      } catch (error) {
        fail(error);
        return true;
      }
    },
  });
  file.once('close', leave);
}

/** Methods that write a file. */
type Methods = Pick<ServerResponse, 'end' | 'write'>;

/** Makes an Error of anything thrown. `String` would throw for an object that can't become text. */
export function asError(thrown: unknown): Error {
  if (types.isNativeError(thrown)) return thrown;
  if (typeof thrown === 'string') return new Error(thrown);
  const isObject = (typeof thrown === 'object' && thrown !== null) || typeof thrown === 'function';
  return new Error(`${isObject ? typeof thrown : String(thrown)} was thrown, which is no Error`, { cause: thrown });
}
