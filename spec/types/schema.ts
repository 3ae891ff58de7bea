/** Type tests of routes with schemas: compiled, never run. */
import { expectTypeOf } from 'expect-type';
import oracle from 'express';
import helmet from 'helmet';
import * as v from 'valibot';
import { createServer, Router, validate } from 'waypost';
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
