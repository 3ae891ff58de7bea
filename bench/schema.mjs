/** The schema of the case `validated`, which the peers share: zod's, of ten fields. */
import * as z from 'zod';

/** What work.mjs's order() holds. */
export const ORDER = z.object({
  id: z.string().max(40),
  customer: z.object({ id: z.int().positive(), name: z.string().min(1) }),
  note: z.string().max(1000).optional(),
  items: z.array(z.object({ sku: z.string().startsWith('SKU-'), title: z.string(), quantity: z.int().min(1), price: z.number().nonnegative() })).min(1),
});

/** The answer to data that the schema refuses, by hand. */
export function refusalOf(error) {
  return { error: 'Bad Request', issues: error.issues.map(({ path, message }) => ({ path, message })) };
}
