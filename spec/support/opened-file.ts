import { once } from 'node:events';
import fs, { type ReadStream } from 'node:fs';

/** Resolves with the next file that is opened to be streamed, once it is. What stands in for `fs.createReadStream` is to be restored. */
export function openedFile(): Promise<ReadStream> {
  const create = fs.createReadStream;
  return new Promise((resolve) => {
    jest.spyOn(fs, 'createReadStream').mockImplementation((...given) => {
      const stream = create(...given);
      void once(stream, 'open').then(() => resolve(stream));
      return stream;
    });
  });
}
