import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { holds } from './fact';
import { endsConnection } from './last-answer';
import { isUnheard } from './unread-request';

/** True on a response that has ended before its turn, by its own method: `kCallsBack` tells of any callback then. */
export const kEndedInTurn = Symbol('waypost.response.endedInTurn');

interface Waiting {
  readonly [kEndedInTurn]?: boolean;
  /** Output that waits for the socket. */
  readonly outputData?: { callback?: (() => void) | null | undefined }[];
}

/** The facts: the callback of a response's last output has it finish; Node reads it behind the event `socket`. */
const isCallbackRead = holds('early-finish', () => {
  const res = new ServerResponse({ method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 } as IncomingMessage);
  let count = 0;
  let finish: (() => void) | undefined;
  res.once('finish', () => count++).once('socket', () => (finish = takeCallback(res)));
  res.end('text');
  const nothing = (): void => undefined;
  res.assignSocket({ writable: true, on: nothing, cork: nothing, uncork: nothing, write: (_data: unknown, _encoding: unknown, callback?: () => void) => callback?.() } as unknown as Socket);
  finish?.();
  return count === 1;
});

/**
 * Finishes a response that ended before its turn when its socket holds the bytes. Node waits until the system
 * has them. The next response can follow at once, and one system call writes both. Must be called by a listener of the
 * response's event `socket`, with another response waiting behind. Returns without effect if the program would hear the
 * exchange end, if the connection ends behind it, or if the socket holds as much as it should.
 */
export function finishEarly(res: ServerResponse, socket: Socket): void {
  if (!isCallbackRead || (res as Waiting)[kEndedInTurn] !== true || socket.writableNeedDrain || endsConnection(res) || !isUnheard(res.req)) return;
  const finish = takeCallback(res);
  if (finish === undefined) return;
  socket.cork();
  process.nextTick(() => {
    if (!socket.destroyed) finish();
    socket.uncork();
  });
}

function takeCallback(res: ServerResponse): (() => void) | undefined {
  const last = (res as Waiting).outputData?.at(-1);
  const callback = last?.callback ?? undefined;
  if (last !== undefined) last.callback = null;
  return callback;
}
