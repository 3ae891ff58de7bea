/** Type tests of what waypost adds to Express: compiled, never run. */
import { expectTypeOf } from 'expect-type';
import express, { validate } from 'waypost/express';
import { z } from 'zod';

const app = express();

app.post('/orders/:id', validate({ params: z.object({ id: z.coerce.number() }) }), (req, res) => {
  expectTypeOf(req.params.id).toEqualTypeOf<number>();
  // @ts-expect-error -- coerced to a number
  const text: string = req.params.id;
  res.json({ text });
});

app.on('close', async () => undefined).on('drain', () => undefined).listen(0);
app.on('mount', (parent) => parent.get('title') as string);
// @ts-expect-error -- no event of an application
app.on('closed', () => undefined);
