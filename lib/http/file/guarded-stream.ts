import { AsyncResource } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import { types } from 'node:util';

/**
 * Has a file that is piped to a response end by an error where what it is written with throws, such as what stands in the place of the
 * response's methods: the file system calls, and nobody else would catch it.
 */
export function guardStream(stream: Readable, failed: (error: Error) => void): void {
  // A pipe that has waited for `drain` goes on in the socket's async context, or that of the response before this one.
  const emit = AsyncResource.bind(stream.emit.bind(stream), 'waypost.file');
  Object.assign(stream, {
    emit(...given: Parameters<Readable['emit']>): boolean {
      try {
        return emit(...given);
      } catch (error) {
        stream.destroy();
        failed(asError(error));
        return true;
      }
    },
  });
}

/** What was thrown may be anything; of an object that can't become text `String` would throw. */
export function asError(thrown: unknown): Error {
  if (types.isNativeError(thrown)) return thrown;
  const text = typeof thrown === 'string' ? thrown : `${typeof thrown} was thrown, which is no Error`;
  return new Error(text, { cause: thrown });
}
