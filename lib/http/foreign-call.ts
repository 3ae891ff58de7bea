import { read } from '../errors';

/** What V8 says of a call of what is no function. */
const CALL = /^(\w+)\.(\w+) is not a function$/;

/** What other frameworks call on the request, or on the one object that they give a handler. */
const OF_REQUESTS: Readonly<Record<string, string>> = {
  json: 'req.body', text: 'req.body', formData: 'req.body', parseBody: 'req.body', arrayBuffer: 'req.rawBody', blob: 'req.rawBody', param: 'req.params',
};

/** What they call to answer. */
const OF_RESPONSES: Readonly<Record<string, string>> = {
  code: 'res.status(code)', json: 'res.json(data)', text: 'res.send(text)', html: 'res.send(html)', body: 'res.send(data)', set: 'res.locals.name = value',
  throw: 'throw new HttpError(status, code, message)', assert: 'throw new HttpError(status, code, message)', notFound: 'res.status(404)', redirect: 'res.redirect(url)',
};

/** What to write instead of a call that V8 has refused, where it is one that Fastify, Koa or Hono know; for the log. */
export function hintForCall(error: unknown): string | undefined {
  const message = read(error, 'message');
  const [, receiver = '', method = ''] = (typeof message === 'string' && CALL.exec(message)) || [];
  const table = /^req/i.test(receiver) ? OF_REQUESTS : OF_RESPONSES;
  return Object.hasOwn(table, method) ? `a handler is given (req, res, next): write ${table[method] as string}` : undefined;
}
