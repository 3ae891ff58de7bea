import { createServer, type Server } from 'node:http';
import theirs from 'express';
import { express as ours } from 'waypost';
import { portOf } from './running';
import { ask, type Question } from './wire';

/** Express itself, or waypost's in its place. */
export type ExpressModule = typeof theirs;

/** What a request is: a target, or that with more. */
export type Asked = string | readonly [target: string, question: Question];

/** Does something by Express and by waypost's express(), and holds the outcomes equal. */
export async function onBoth<T>(act: (express: ExpressModule) => T | Promise<T>): Promise<T> {
  const wanted = await act(theirs);
  expect(await act(quiet as unknown as ExpressModule)).toEqual(wanted);
  return wanted;
}

/** Waypost's, without its lines about errors. */
const quiet = Object.assign(() => ours({ logging: { level: 'silent' } }), ours);

/** Sends requests to a listener of its own server, one after another; returns status, body and some fields of each. */
export async function answersOf(listener: (...given: never[]) => unknown, asked: readonly Asked[], fields: readonly string[] = []): Promise<unknown[]> {
  const server: Server = createServer(listener as never);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  try {
    const answers: unknown[] = [];
    for (const each of asked) {
      const [target, question] = typeof each === 'string' ? [each, {}] : each;
      const { status, body, headers } = await ask(portOf(server), target, question);
      // The words of what nobody has answered are each one's own, and the fields of such an answer.
      const isOwn = status !== 404 && status !== 500;
      answers.push([target, status, isOwn ? body : '', ...fields.map((name) => (isOwn || name.startsWith('x-') ? headers[name] : undefined))]);
    }
    return answers;
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
