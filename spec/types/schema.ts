/** Type tests of routes with schemas: compiled, never run. */
import { expectTypeOf } from 'expect-type';
import oracle, { type RequestHandler } from 'express';
import helmet from 'helmet';
import * as v from 'valibot';
import { createServer, type ParsedQuery, type Request, type Response, type RouteOptions, Router, validate } from 'waypost';
import express from 'waypost/express';
import { z } from 'zod';

const app = createServer();
const Order = z.object({ quantity: z.number() });

app.post('/shops/:shop/orders/:id', {
  params: z.object({ id: z.coerce.number() }),
  query: z.object({ page: z.coerce.number().default(1) }),
  body: Order,
  response: { 200: z.object({ id: z.number() }), 404: z.object({ reason: z.string() }) },
}, (req, res) => {
  expectTypeOf(req.params).toEqualTypeOf<Omit<{ shop: string; id: string }, 'id'> & { id: number }>();
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  expectTypeOf(req.params.shop).toEqualTypeOf<string>();
  expectTypeOf(req.query).toEqualTypeOf<{ page: number }>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  // @ts-expect-error -- coerced to a number
  const text: string = req.params.id;
  // @ts-expect-error -- no field of the schema
  res.json({ id: req.body.amount });
  // @ts-expect-error -- no response has it
  res.json({ name: text });
  res.status(404).json({ reason: 'gone' });
});

// Each library, a part alone, several handlers, and what stays as it was.
app.put('/orders/:id', { params: v.object({ id: v.pipe(v.string(), v.transform(Number)) }) }, (req, _res, next) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  expectTypeOf(req.body).toEqualTypeOf<unknown>();
  next();
}, async (req, res) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  await Promise.resolve();
  res.json({ anything: 1 });
});
app.route('/orders/:id').patch({ body: Order }, (req, res) => {
  expectTypeOf(req.params).toEqualTypeOf<{ id: string }>();
  expectTypeOf(req.body.quantity).toEqualTypeOf<number>();
  res.json(req.body);
});
Router().post('/uploads', { body: false, timeout: 5, bodyLimit: '1mb', summary: 'Takes a file', tags: ['files'], deprecated: true }, (req, res) => void req.pipe(res));

// Middleware of a package among the handlers.
app.post('/orders', { body: Order }, helmet(), (req, res) => {
  expectTypeOf(req.body.quantity).toEqualTypeOf<number>();
  res.json({});
});

// @ts-expect-error -- no option of a route
app.post('/orders', { bdy: Order }, (_req, res) => res.json({}));
// @ts-expect-error -- no schema
app.post('/orders', { body: { quantity: 1 } }, (_req, res) => res.json({}));

// As middleware, in waypost and in Express.
const checked = validate({ params: z.object({ id: z.coerce.number() }), body: Order });
app.post('/checked/:id', checked, (req, res) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  res.json({});
});
oracle().post('/checked/:id', oracle.json(), validate({ params: z.object({ id: z.coerce.number() }), body: Order }), (req, res) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  expectTypeOf(req.body.quantity).toEqualTypeOf<number>();
  res.json({});
});
// @ts-expect-error -- an option of a route
validate({ bodyLimit: 5 });

// The same, written inline, first or behind one other handler.
app.post('/shops/:shop/orders/:id', validate({ params: z.object({ id: z.coerce.number() }), query: z.object({ page: z.coerce.number() }), body: Order, response: { 200: z.object({ id: z.number() }) } }), (req, res) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  expectTypeOf(req.params.shop).toEqualTypeOf<string>();
  expectTypeOf(req.query).toEqualTypeOf<{ page: number }>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  // @ts-expect-error -- no response has it
  res.json({ name: 'a' });
  res.json({ id: 1 });
});
app.post('/orders/:id', validate({ body: Order }), (req, res) => {
  expectTypeOf(req.params).toEqualTypeOf<{ id: string }>();
  expectTypeOf(req.query).toEqualTypeOf<ParsedQuery>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  res.json({ anything: 1 });
});
app.get('/orders/:id', validate({ query: z.object({ page: z.coerce.number() }) }), async (req, res) => {
  expectTypeOf(req.query).toEqualTypeOf<{ page: number }>();
  expectTypeOf(req.params).toEqualTypeOf<{ id: string }>();
  expectTypeOf(req.body).toEqualTypeOf<unknown>();
  res.json({ anything: 1 });
});
app.get('/headers', validate({ headers: z.object({ a: z.string() }) }), async (req, res) => {
  expectTypeOf(req.query).toEqualTypeOf<ParsedQuery>();
  expectTypeOf(req.body).toEqualTypeOf<unknown>();
  res.json({ anything: 1 });
});
Router().put('/orders/:id', validate({ body: Order }), helmet(), (req, res) => {
  expectTypeOf(req.params).toEqualTypeOf<{ id: string }>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  res.json({ anything: 1 });
});
app.route('/orders/:id').post(validate({ body: Order }), (req, res) => {
  expectTypeOf(req.params).toEqualTypeOf<{ id: string }>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  res.json({ anything: 1 });
});
const bodies = validate({ body: Order });
app.route('/orders/:id').post(bodies, (req, res) => {
  expectTypeOf(req.params).toEqualTypeOf<{ id: string }>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  res.json({ anything: 1 });
});
app.post('/orders/:id', bodies, (req, res) => {
  expectTypeOf(req.params).toEqualTypeOf<{ id: string }>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  res.json({ anything: 1 });
});
app.post('/orders/:id', helmet(), validate({ params: z.object({ id: z.coerce.number() }), body: Order }), (req, res) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  res.json({ anything: 1 });
});
app.post('/orders/:id', (req, _res, next) => { expectTypeOf(req.params).toEqualTypeOf<{ id: string }>(); next(); }, validate({ params: z.object({ id: z.coerce.number() }), body: Order }), (req, res) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  res.json({ anything: 1 });
});
app.route('/orders/:id').post(validate({ params: z.object({ id: z.coerce.number() }), query: z.object({ page: z.coerce.number() }) }), (req, res) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  expectTypeOf(req.query).toEqualTypeOf<{ page: number }>();
  expectTypeOf(req.body).toEqualTypeOf<unknown>();
  res.json({ anything: 1 });
});
app.route('/orders/:id').post(validate({ body: Order }), helmet(), (req, res) => {
  expectTypeOf(req.query).toEqualTypeOf<ParsedQuery>();
  expectTypeOf(req.params).toEqualTypeOf<{ id: string }>();
  res.json({ anything: 1 });
});
app.route('/orders/:id').post(helmet(), validate({ params: z.object({ id: z.coerce.number() }), body: Order }), (req, res) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  res.json({ anything: 1 });
});

// Options behind a path that is given before, by Express's types.
express().route('/shops/:shop/orders/:id').post({ params: z.object({ id: z.coerce.number() }), body: Order }, (req, res) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  expectTypeOf(req.params.shop).toEqualTypeOf<string>();
  expectTypeOf(req.body).toEqualTypeOf<{ quantity: number }>();
  res.json({});
});

// Functions are no options: those that are written inline before a typed one keep their types.
declare const theirs: RequestHandler;
declare const own: (req: Request, res: Response) => void;
express().get('/a', (req, _res, next) => void next(req.path), theirs);
express().use((req, _res, next) => void next(req.path), theirs);
express().route('/a').get((req, _res, next) => void next(req.path), theirs);
app.get('/a', (req, _res, next) => void next(req.path), own);
app.get('/a', (req, _res, next) => void next(req.path), helmet());
app.route('/a').get((req, _res, next) => void next(req.path), helmet());

// Options by a name.
const timed = { timeout: 5 };
const options: RouteOptions = timed;
app.get('/a', { ...options, bodyLimit: 7 }, own);
app.get('/a', timed, own);
app.get('/a', options, own);
// @ts-expect-error -- no options
app.get('/a', 7, own);
