import { LONGEST_DELAY } from '../options/field';
import type { SafeLog } from '../log/safe-log';
import { clearTimeout, setTimeout } from '../timers';

/** A listener of an application's `close` event; a promise that it returns is waited for. */
export type CloseListener = () => unknown;

/**
 * Calls the `close` listeners of an application in order, and awaits all
 * returned promises. Logs failures and timeouts; never rejects.
 * @param timeout In milliseconds.
 */
export async function callCloseListeners(app: object, listeners: readonly CloseListener[], timeout: number, logger: SafeLog): Promise<void> {
  let remaining = listeners.length;
  const calls = listeners.map(async (listener) => {
    try {
      await listener.call(app);
    } catch (error) {
      logger.error({ err: error }, 'A listener of "close" failed');
    }
    remaining--;
  });
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(timeout, LONGEST_DELAY));
  });
  await Promise.race([Promise.all(calls), timedOut]);
  clearTimeout(timer);
  if (remaining > 0) logger.warn({ listeners: remaining, timeout }, 'Listeners of "close" were not done by the end of the close timeout');
}
