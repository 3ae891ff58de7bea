import type { ServerResponse } from 'node:http';
import { CallSite } from '../call-site';

/** Responses that nobody has answered, and whose first answer is to be told. */
const awaited = new Set<ServerResponse>();
const sites = new WeakMap<ServerResponse, CallSite>();

/** Has the place kept that answers the response first. */
export function keepFirstAnswer(res: ServerResponse): void {
  awaited.add(res);
  res.on('pipe', hearPipe);
}

/** Listener of `pipe`: what is piped comes later, from no call of the program's. */
export function hearPipe(this: ServerResponse): void {
  answersFirst(this);
}

/** To be called when nobody can answer the response any more. */
export function forgetFirstAnswer(res: ServerResponse): void {
  awaited.delete(res);
}

/** To be called where an answer begins. */
export function answersFirst(res: ServerResponse): void {
  if (awaited.size > 0 && awaited.delete(res)) sites.set(res, new CallSite());
}

/** File, line and column that have answered first, where they were kept. */
export function firstAnswerOf(res: ServerResponse): string | undefined {
  return sites.get(res)?.place;
}
