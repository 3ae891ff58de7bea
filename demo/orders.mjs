/**
 * A JSON API that is signed, checked, typed and documented: orders of shops.
 * GET /openapi.json describes it, GET / shows it. Signed are all other requests:
 *
 *   URL=http://localhost:3000/shops/north/orders
 *   node demo/sign.mjs POST $URL '{"item":"rope","quantity":2}' | curl -i -H @- -H 'Content-Type: application/json' -d '{"item":"rope","quantity":2}' $URL
 */
import { readFileSync } from 'node:fs';
import { createServer, HttpError, Router } from 'waypost';
import { z } from 'zod';

const secret = process.env.DEMO_SECRET || readFileSync(new URL('secret.txt', import.meta.url), 'utf8').trim();

const NewOrder = z.object({ item: z.string().min(1).max(80), quantity: z.number().int().min(1).max(1000), note: z.string().max(500).optional() });
const Order = NewOrder.extend({ id: z.number().int(), shop: z.string() });
const Shop = z.object({ shop: z.enum(['north', 'south']) });
const Id = Shop.extend({ id: z.coerce.number().int().positive() });

const orders = new Map();

const app = createServer({
  errors: 'problem',
  logging: { requestId: true },
  routing: { methodNotAllowed: true },
  security: { requestSignature: { secret }, routeConfig: { requestSignature: { excludeRoutes: ['/', '/openapi.json'] } } },
});

const api = Router();

api.get('/', {
  summary: 'Lists the orders of a shop', tags: ['orders'],
  params: Shop,
  query: z.object({ item: z.string().optional(), limit: z.coerce.number().int().min(1).max(100).default(20) }),
  response: { 200: z.array(Order) },
}, (req, res) => {
  const { item, limit } = req.query;
  res.json([...orders.values()].filter((order) => order.shop === req.params.shop && (item === undefined || order.item === item)).slice(0, limit));
});

api.post('/', {
  summary: 'Takes an order', tags: ['orders'],
  params: Shop, body: NewOrder, bodyLimit: '4kb', timeout: 2_000,
  response: { 201: Order },
}, (req, res) => {
  const order = { id: orders.size + 1, shop: req.params.shop, ...req.body };
  orders.set(order.id, order);
  res.status(201).location(`/shops/${order.shop}/orders/${order.id}`).json(order);
});

api.get('/:id', { summary: 'One order', tags: ['orders'], params: Id, response: { 200: Order } }, (req, res) => {
  const order = orders.get(req.params.id);
  if (order?.shop !== req.params.shop) throw new HttpError(404, 'NO_ORDER', `There is no order ${req.params.id} in the shop ${req.params.shop}`, { members: { id: req.params.id } });
  res.json(order);
});

app.use('/shops/:shop/orders', api);

const document = app.openapi({ info: { title: 'Orders', version: '1.0.0' } });
app.get('/openapi.json', (_req, res) => res.json(document));
app.get('/', (_req, res) => res.send('<!doctype html><title>Orders</title><script id="api-reference" data-url="/openapi.json"></script><script src="https://cdn.jsdelivr.net/npm/@scalar/api-reference"></script>'));

await app.start();
console.log(`Listening on http://localhost:${app.server.address().port}`);
