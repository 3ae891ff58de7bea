import { Response } from '../http/response';
import { kFail, kFailing } from '../http/response-state';
import { kWalk, type Travelling } from './walk';

/** A response whose errors go the way of its request's walk: to error middleware first. */
export class WalkedResponse extends Response {
  override [kFail](error: unknown): void {
    const walk = (this.req as Travelling)[kWalk];
    if (walk === undefined) super[kFail](error);
    else walk.failing(error);
  }

  override [kFailing](): (error: unknown) => void {
    const walk = (this.req as Travelling)[kWalk];
    return walk === undefined ? super[kFailing]() : walk.failing;
  }
}
