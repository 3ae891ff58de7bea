import type { Socket } from 'node:net';
import { Request } from '../../lib/http/request';
import { kSettings, type RequestSettings } from '../../lib/http/request-state';

/** A class of requests whose routes have parameters of any name. */
export type RequestClass = Pick<typeof Request, keyof typeof Request> & (new (socket: Socket) => Request);

/** A class of requests with these settings, as an application makes one of its own. */
export function requestClass(settings: Partial<RequestSettings>): RequestClass {
  class Configured extends Request {}
  Object.defineProperty(Configured.prototype, kSettings, { value: { ...Request.prototype[kSettings], ...settings } });
  return Configured;
}
