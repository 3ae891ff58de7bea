import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { holds } from './fact';
import { isFinishUnheard } from './unread-request';

interface Ended {
  /** Output that waits for the socket. The last entry's callback has the response finish. */
  readonly outputData: { callback?: (() => void) | null | undefined }[];
}

/** The fact: the callback of what a response has last to send makes it finish. */
const finishes = holds('early-finish', () => {
  const res = new ServerResponse({ method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 } as IncomingMessage);
  res.end('text');
  let count = 0;
  res.once('finish', () => count++);
  lastOutput(res)?.callback?.();
  return count === 1;
});

/**
 * Has a response that ended before its turn finish when its socket holds its bytes. Node waits until the system does.
 * So the next response can follow at once, and one system call writes all of them. Must be called before the socket
 * gets the bytes. Does nothing if the program would hear the response finish, or if the socket holds as much as it should.
 */
export function finishEarly(res: ServerResponse, socket: Socket): void {
  if (!finishes || !res.writableEnded || socket.writableNeedDrain || !isFinishUnheard(res)) return;
  const last = lastOutput(res);
  const finish = last?.callback;
  if (last === undefined || typeof finish !== 'function') return;
  last.callback = null;
  socket.cork();
  process.nextTick(() => {
    finish();
    socket.uncork();
  });
}

function lastOutput(res: ServerResponse): Ended['outputData'][number] | undefined {
  return (res as unknown as Ended).outputData.at(-1);
}
