/**
 * The work that every peer does: the data, the paths, the secret, and the check
 * of a signature. What a framework does for its users is not in here.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Longest body, in bytes, of every case but `body`. */
export const BODY_LIMIT = 1_048_576;
/** Longest body of the case `body`, in bytes. */
export const LARGE_BODY_LIMIT = 16 * BODY_LIMIT;

export const SECRET = 'a shared secret of the benchmark, 32 bytes and more';
const SIGNATURE_HEADER = 'svc-request-sig';
const TIMESTAMP_HEADER = 'x-timestamp';
const MAX_AGE = 300_000;
const CLOCK_SKEW = 30_000;

export const GREETING = { hello: 'world', framework: 'any', numbers: [1, 2, 3], nested: { ok: true } };

/** What the three middleware of the case `routed` say and find. */
export const REQUEST_ID = '3f1c2b6e-benchmark';
export const USER = { id: 7, name: 'Ada' };
export const TOKEN = 'Bearer benchmark';

const ASKED = '/api/users/:user/orders/:order';
/** Method, path, and whether it is the one that is asked for: that stands in the middle, with parameters and neighbours of its own kind around it. */
export const ROUTES = [
  ['GET', '/'],
  ['GET', '/health'],
  ['GET', '/about'],
  ['GET', '/api/users'],
  ['POST', '/api/users'],
  ['GET', '/api/users/me'],
  ['GET', '/api/users/:user'],
  ['PUT', '/api/users/:user'],
  ['DELETE', '/api/users/:user'],
  ['GET', '/api/users/:user/friends'],
  ['GET', '/api/users/:user/orders'],
  ['POST', '/api/users/:user/orders'],
  ['GET', '/api/users/:user/settings'],
  ['PATCH', '/api/users/:user/settings'],
  ['GET', '/api/users/:user/orders/:order/items'],
  ['GET', '/api/users/:user/orders/:order'],
  ['PUT', '/api/users/:user/orders/:order'],
  ['DELETE', '/api/users/:user/orders/:order'],
  ['GET', '/api/products'],
  ['POST', '/api/products'],
  ['GET', '/api/products/:product'],
  ['PUT', '/api/products/:product'],
  ['GET', '/api/products/:product/reviews'],
  ['POST', '/api/products/:product/reviews'],
  ['GET', '/api/products/:product/reviews/:review'],
  ['GET', '/api/search'],
  ['POST', '/api/sessions'],
  ['DELETE', '/api/sessions/:session'],
  ['GET', '/assets/app.js'],
  ['GET', '/assets/app.css'],
].map(([method, path]) => [method, path, method === 'GET' && path === ASKED]);

/** Where the routers of the case `nested` are mounted: two of them in the other. */
const MOUNTS = ['/api', '/api/users', '/api/products'];
/** The routes of the router there, or with `''` of the application, by their paths in it. */
export function routesIn(mount) {
  const within = MOUNTS.filter((other) => other !== mount && other.startsWith(mount));
  const isBelow = (path, prefix) => `${path}/`.startsWith(`${prefix}/`);
  const own = ROUTES.filter(([, path]) => isBelow(path, mount) && !within.some((other) => isBelow(path, other)));
  return own.map(([method, path, isAsked]) => [method, path.slice(mount.length) || '/', isAsked]);
}

/** Registers the routes in three routers, two deep. @param mount Mounts a router in another. */
export function nestRoutes([app, api, users, products], addRoutes, mount = (around, path, router) => around.use(path, router)) {
  addRoutes(users, routesIn('/api/users'));
  addRoutes(products, routesIn('/api/products'));
  mount(api, '/users', users);
  mount(api, '/products', products);
  addRoutes(api, routesIn('/api'));
  mount(app, '/api', api);
  addRoutes(app, routesIn(''));
}

/** Paths of the case `routes`, each with one parameter. */
export function manyPaths(count) {
  return Array.from({ length: count }, (_, i) => `/resource-${i}/items/:id`);
}

/** The one that is asked for: in the middle, which is the mean of a search from the top. */
export function middlePath(count) {
  return `/resource-${count >> 1}/items/42`;
}

/** What the handler makes of a 1 KB order. */
export function summarize(order) {
  let total = 0;
  for (const item of order.items) total += item.price * item.quantity;
  return { id: order.id, items: order.items.length, total };
}

/** An order; of about 1 KB with as many items as it has by itself, of 100 KB with 1,344. */
export function order(count = 13) {
  const items = Array.from({ length: count }, (_, i) => ({ sku: `SKU-${1000 + i}`, title: `Article number ${i}`, quantity: i + 1, price: 5 * i + 3 }));
  return { id: 'order-20240101-0001', customer: { id: 42, name: 'Ada Lovelace' }, note: 'Zürich, please ring twice', items };
}

/** Rows as of a database whose JSON has about that many bytes; with `big`, one BigInt in each. */
export function rows(bytes, big) {
  const made = [];
  for (let length = 0; length < bytes; ) {
    const id = made.length;
    // Parsed, as by a database driver: strings that were joined a moment ago are slower to write.
    const row = JSON.parse(JSON.stringify({
      id,
      name: `User number ${id}`,
      email: `user${id}@example.com`,
      active: id % 2 === 0,
      score: id * 1.5,
      balance: String(9_007_199_254_740_993n + BigInt(id)),
      tags: ['alpha', 'beta', 'gamma'],
      address: { city: 'Zürich', zip: '8000' },
      created: '2024-01-01T00:00:00.000Z',
    }));
    length += Buffer.byteLength(JSON.stringify(row)) + 1;
    if (big) row.balance = BigInt(row.balance);
    made.push(row);
  }
  return made;
}

/** Teaches JSON.stringify about BigInt: of what users of the peers do, the fastest (see README.md). */
export function teachBigInt() {
  BigInt.prototype.toJSON = function toJSON() {
    return this.toString();
  };
}

export const FILE_NAME = '64kb.txt';

/** A directory that holds the file of 64 KB. */
export function fileDirectory() {
  const directory = join(tmpdir(), 'waypost-bench');
  const path = join(directory, FILE_NAME);
  const text = 'A file of 64 KB, which is made of 1,024 lines of 64 bytes each.\n'.repeat(1024);
  if (!existsSync(path) || readFileSync(path, 'latin1') !== text) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(path, text);
  }
  return directory;
}

/** A page of 2 KB, to be sent with its ETag. */
export const PAGE = `<!doctype html><html lang="en"><title>Orders</title><ul>\n${'<li><a href="/orders/1001">An order of two articles, to Zürich</a></li>\n'.repeat(27)}</ul></html>\n`;

/** What helmet sends by itself, for who has another way of sending it. */
export const CONTENT_SECURITY_POLICY = {
  defaultSrc: ["'self'"],
  baseUri: ["'self'"],
  fontSrc: ["'self'", 'https:', 'data:'],
  formAction: ["'self'"],
  frameAncestors: ["'self'"],
  imgSrc: ["'self'", 'data:'],
  objectSrc: ["'none'"],
  scriptSrc: ["'self'"],
  scriptSrcAttr: ["'none'"],
  styleSrc: ["'self'", 'https:', "'unsafe-inline'"],
  upgradeInsecureRequests: [],
};
export const TRANSPORT_SECURITY = 'max-age=31536000; includeSubDomains';

/** Events of a stream that ends. */
export async function* events(count = 10) {
  for (let id = 0; id < count; id++) yield { id: String(id), data: { at: id, text: 'a price has changed' } };
}

/** The key and certificate of the case `https`: those of the demonstration, which are public. */
export function certificate() {
  const read = (name) => readFileSync(resolve(import.meta.dirname, `../demo/tls/demo-only-${name}.pem`), 'utf8');
  return { key: read('key'), cert: read('cert') };
}

/** Path of the case `routers`: as long, and with as many segments, however many of them are mounts. */
export const MOST_LEVELS = 6;
export function pathBelow(level) {
  let path = '/items/:id';
  for (let i = MOST_LEVELS; i > level; i--) path = mountAt(i) + path;
  return path;
}
export function mountAt(level) {
  return `/level-${level}`;
}

/** Signs as waypost does: the headers to send (INTERFACE section 5). */
export function sign(method, target, body, at = Date.now()) {
  const timestamp = String(at);
  return { [SIGNATURE_HEADER]: digest(method, target, body, timestamp).toString('hex'), [TIMESTAMP_HEADER]: timestamp };
}

/** The check that users of the peers write by hand. */
export function isSigned(method, target, body, headers) {
  const signature = headers[SIGNATURE_HEADER];
  const timestamp = headers[TIMESTAMP_HEADER];
  if (signature === undefined || timestamp === undefined || !/^\d{13}$/.test(timestamp) || !/^[0-9a-f]{64}$/.test(signature)) return false;
  const age = Date.now() - Number(timestamp);
  if (age > MAX_AGE || age < -CLOCK_SKEW) return false;
  return timingSafeEqual(digest(method, target, body, timestamp), Buffer.from(signature, 'hex'));
}

/** Made once: each digest takes a tenth less time than with the text. */
const KEY = createSecretKey(Buffer.from(SECRET));

function digest(method, target, body, timestamp) {
  return createHmac('sha256', KEY).update(method.toUpperCase()).update(target).update(body).update(timestamp).digest();
}

export const UNSIGNED = { error: 'Invalid signature', message: 'Request signature verification failed' };

export function notFound(method, path) {
  return { error: 'Not Found', message: `Cannot ${method} ${path}` };
}

/**
 * Runs the case that was asked for: `node peers/<name>.mjs <case> [size]`.
 * Prints the port once the server listens.
 * @param cases by name, each given the size; each calls back with its port.
 */
export function main(cases) {
  const [name, size] = process.argv.slice(2);
  const start = cases[name];
  if (start === undefined) {
    console.error(`usage: node ${process.argv[1]} ${Object.keys(cases).join('|')} [size]`);
    process.exit(2);
  }
  // A profile (--cpu-prof) is written by a process that ends by itself.
  process.once('SIGINT', () => process.exit());
  start((port) => console.log(port), size === undefined ? undefined : Number(size));
}
