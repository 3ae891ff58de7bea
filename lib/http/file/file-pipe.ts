import { AsyncResource } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { types } from 'node:util';

/**
 * Stands between a file that is about to be piped and the response. What the response is written with may throw, such as for a head that Node
 * refuses. The file system calls then: from Node 24 on a pipe destroys the response unheard, and before that the process ended.
 * @param failed Told of what was thrown; to end the file, or the response, is left to it.
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
  // A pipe that has waited for `drain` goes on in the socket's async context, or that of the response before this one.
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

/** What a file is written with. */
type Methods = Pick<ServerResponse, 'end' | 'write'>;

/** What was thrown may be anything; of an object that can't become text `String` would throw. */
export function asError(thrown: unknown): Error {
  if (types.isNativeError(thrown)) return thrown;
  if (typeof thrown === 'string') return new Error(thrown);
  const isObject = (typeof thrown === 'object' && thrown !== null) || typeof thrown === 'function';
  return new Error(`${isObject ? typeof thrown : String(thrown)} was thrown, which is no Error`, { cause: thrown });
}
