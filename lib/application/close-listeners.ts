import { LONGEST_DELAY } from '../options/field';
import type { SafeLog } from '../log/safe-log';

/** A listener of an application's `close` event; a promise that it returns is waited for. */
export type CloseListener = () => unknown;

/**
 * Calls what listens for an application's end, in order, and waits for what is
 * returned, all together. What fails or is late is logged; never rejected.
 * @param timeout In milliseconds.
 */
export async function callCloseListeners(app: object, listeners: readonly CloseListener[], timeout: number, logger: SafeLog): Promise<void> {
  let left = listeners.length;
  const ends = listeners.map(async (listener) => {
    try {
      await listener.call(app);
    } catch (error) {
      logger.error({ err: error }, 'A listener of "close" failed');
    }
    left--;
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(timeout, LONGEST_DELAY));
  });
  await Promise.race([Promise.all(ends), late]);
  clearTimeout(timer);
  if (left > 0) logger.warn({ listeners: left, timeout }, 'Listeners of "close" were not done by the end of the close timeout');
}
