import type { IncomingMessage, ServerResponse } from 'node:http';
import { bindContext } from '../async-context';
import { HttpError } from '../errors';
import { cutOffTest } from './connection';
import { isTakenOver } from './taken-over';

/** Makes the controller of `req.signal`. It aborts when the connection closes before the response is whole. */
export function controllerOf(req: Pick<IncomingMessage, 'socket'> & { readonly res: ServerResponse | undefined }): AbortController {
  const { res } = req;
  const isCutOff = cutOffTest(req);
  const controller = new AbortController();
  // Only one in a handler's place was taken over, for the time limit.
  if (res !== undefined && isTakenOver(res)) controller.abort(HttpError.of('HANDLER_TIMEOUT'));
  if (res === undefined || res.writableFinished) return controller;
  // Listeners of the signal run in the async context of its first reader.
  const abort = bindContext(() => controller.abort(isCutOff() ? HttpError.of('SERVER_CLOSING') : HttpError.of('CLIENT_GONE')), 'waypost.signal');
  if (res.destroyed) {
    abort();
  } else {
    // Not by writableFinished: that is set, too, by whoever ends the response when the client has gone.
    let isWhole = false;
    res.once('finish', () => {
      isWhole = true;
    });
    res.once('close', () => {
      if (!isWhole) abort();
    });
  }
  return controller;
}
