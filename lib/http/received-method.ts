import type { ServerResponse } from 'node:http';
import { isForHead } from './node/head-marks';

/**
 * The method as the client has sent it. A server written by hand, or an Express application around,
 * may have changed it. method-override keeps what it replaces, and Node knows of HEAD.
 */
export function receivedMethod(req: { readonly method: string }, res: ServerResponse): string {
  const { originalMethod } = req as { readonly originalMethod?: unknown };
  if (typeof originalMethod === 'string') return originalMethod;
  return isForHead(res) ? 'HEAD' : req.method;
}
