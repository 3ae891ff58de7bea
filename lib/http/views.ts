import { HttpError } from '../errors';
import { isAmbiguousPath } from './file/ambiguous-path';
import { guardedCall } from '../guarded-call';
import type { Request } from './request';
import type { Response } from './response';
import { kFailing } from './response-state';

/** Told what a view has become, or why it can't be rendered; there is no text then. A method's type, so that a program may take the error for one that is there. */
export type RenderCallback = {
  /** Called with the text, or with the error. */
  call(error: Error | null | undefined, html: string): unknown;
}['call'];

/** Renders a view of the application, for the callback, or to be sent as HTML. */
export function sendView(res: Response, name: string, options: object | null | undefined, callback: RenderCallback | undefined): void {
  const fail = res[kFailing]();
  const done = callback ?? ((error, html) => {
    if (error) throw error;
    res.send(html);
  });
  const req = res.req as Request | undefined;
  // As a path of sendFile: the capture of `/pages/x/../private/key` would lead past a guard of `/pages/private`.
  if (typeof name === 'string' && isAmbiguousPath(name, String(req?.originalUrl))) {
    guardedCall(() => done(new HttpError(403, 'EAMBIGUOUS', 'Forbidden'), ''), fail);
    return;
  }
  const app = req?.app ?? res.app;
  // It is called from the engine's side, where a throw would end the process.
  app.render(name, { ...options, _locals: res.locals }, (error, html) => guardedCall(() => done(error, html), fail));
}
