import type { ServerResponse } from 'node:http';
import { HttpError } from '../errors';
import { isAmbiguousPath } from './file/ambiguous-path';
import { guardedCall } from './guarded-call';
import type { HostApplication, RenderCallback } from './host-application';
import { kFailing } from './response-state';

/** Members of a response that rendering a view needs. */
interface Rendering {
  readonly app: Pick<HostApplication, 'render'>;
  readonly locals: object;
  send(html: string): unknown;
  [kFailing](): (error: unknown) => void;
}

/** Renders a view of the application, for the callback, or to be sent as HTML. */
export function sendView(res: Rendering & ServerResponse, name: string, options: object | null | undefined, callback: RenderCallback | undefined): void {
  const fail = res[kFailing]();
  const done = callback ?? ((error, html) => {
    if (error) throw error;
    res.send(html);
  });
  const req = res.req as Partial<Pick<Rendering, 'app'>> & { originalUrl?: unknown } | undefined;
  // As a path of sendFile: the capture of `/pages/x/../private/key` would lead past a guard of `/pages/private`.
  if (typeof name === 'string' && isAmbiguousPath(name, String(req?.originalUrl))) {
    guardedCall(() => done(new HttpError(403, 'EAMBIGUOUS', 'Forbidden'), ''), fail);
    return;
  }
  const app = req?.app ?? res.app;
  // It is called from the engine's side, where a throw would end the process.
  app.render(name, { ...options, _locals: res.locals }, (error, html) => guardedCall(() => done(error, html), fail));
}
