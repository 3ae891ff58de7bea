import type { IncomingMessage, ServerResponse } from 'node:http';
import { late } from '../packages';
import type { RequestSchemas, ResponseBody, ResponseSchemas } from './route-options';

const
  contracts = late(() => require('./contract') as typeof import('./contract')),
  guards = late(() => require('./guard') as typeof import('./guard'));

/** A request whose parts schemas have parsed; those without a schema say nothing. */
export type ParsedRequest<Params, Query, Body> = IncomingMessage
  & (unknown extends Params ? unknown : { params: Params }) & (unknown extends Query ? unknown : { query: Query }) & (unknown extends Body ? unknown : { body: Body });

/** Middleware of waypost and of Express that holds requests to schemas. */
export interface Validator<Params, Query, Body, Replies extends ResponseSchemas> {
  (req: ParsedRequest<Params, Query, Body>, res: ServerResponse & { json(data?: ResponseBody<Replies>): unknown }, next: (error?: unknown) => void): unknown;
  /** Marks it: the handlers behind it are typed by its schemas. */
  readonly validates: true;
}

/**
 * Makes middleware that checks requests by schemas, in waypost and in Express 5.
 * Schemas are of any library with Standard Schema. All that is given is checked, and what was
 * parsed replaces `req.params`, `req.query` and `req.body`. A request that fails
 * is a {@link ValidationError}, whose default answer is 400. Under `app.use` the
 * parameters are those of its own path.
 * @throws TypeError for options that are none, or a schema without `~standard`.
 * @example
 * app.post('/orders', express.json(), validate({ body: z.object({ quantity: z.number() }) }), (req, res) => res.json(req.body));
 */
export function validate<Params = unknown, Query = unknown, Body = unknown, const Replies extends ResponseSchemas = ResponseSchemas>(
  schemas: RequestSchemas<Params, Query, Body, Replies>,
): Validator<Params, Query, Body, Replies> {
  return guards().guardOf(contracts().readContract(schemas, 'validate(…)', false));
}
