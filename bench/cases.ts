/** One request, and what must be answered. */
export interface Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Length of a body that need not be sent when the headers are answered. */
  readonly announced?: number;
  readonly status: number;
  /** The body as JSON. */
  readonly json?: unknown;
  /** The body as text, and its type. */
  readonly text?: string;
  readonly type?: 'text/plain' | 'text/html';
  /** Further header fields that must be answered. */
  readonly answered?: Readonly<Record<string, string>>;
  /** Names of header fields that must be answered, whatever they hold. */
  readonly present?: readonly string[];
  /** Whether an ETag must be answered, and 304 to a request that names it. */
  readonly tagged?: boolean;
  /** The certificate of a server that speaks HTTPS. */
  readonly ca?: string;
  /** Requests that the load sends on a connection before it waits for an answer. @default 1 */
  readonly pipelined?: number;
}

/** One kind of work. */
export interface Case {
  readonly name: CaseName | 'body' | 'routers';
  readonly title: string;
  /** The case by whose program the peers serve this one, where it has none of its own. */
  readonly program?: CaseName;
  /** Connections of the load, where it is not as many as for the others. */
  readonly connections?: number;
  /** Clients beside the load that send their requests a few bytes at a time. */
  readonly slowClients?: number;
  /** The request of the load; made anew for each group of runs, since signatures grow old. */
  readonly exchange: (size?: number) => Exchange;
  /** What else a peer must do, so that none wins by doing less. */
  readonly checks: () => readonly Exchange[];
}

export const CASE_NAMES = ['static', 'routed', 'post', 'validated', 'signed', 'bigint', 'large', 'notfound', 'file', 'routes', 'nested', 'middleware', 'https', 'tagged', 'secured', 'upload', 'slow', 'pipelined'] as const;
export type CaseName = (typeof CASE_NAMES)[number];
/** Cases that only grow. */
export const GROWING = ['body', 'routers'] as const;

const JSON_TYPE = { 'content-type': 'application/json' };
/** What helmet sends, by name; of some the value is each one's own. */
const SECURITY_FIELDS = [
  'content-security-policy', 'cross-origin-opener-policy', 'cross-origin-resource-policy', 'origin-agent-cluster', 'referrer-policy', 'x-dns-prefetch-control',
  'x-download-options', 'x-permitted-cross-domain-policies', 'x-xss-protection',
];
const ORIGIN = { origin: 'https://shop.example' };

/** The cases by name. The data is that of work.mjs, which the peers share; the answers are worked out here. */
export async function loadCases(): Promise<ReadonlyMap<string, Case>> {
  const work = await import('./work.mjs');
  const { readFile } = await import('node:fs/promises');
  const order = JSON.stringify(work.order());
  const summary = work.summarize(work.order());
  const file = await readFile(`${work.fileDirectory()}/${work.FILE_NAME}`, 'utf8');

  const get = (target: string, rest: Partial<Exchange>): Exchange => ({ method: 'GET', target, headers: {}, status: 200, ...rest });
  const post = (target: string, body: string, rest: Partial<Exchange>): Exchange => ({ method: 'POST', target, headers: JSON_TYPE, body, status: 200, ...rest });
  const signed = (): Exchange => post('/orders', order, { headers: { ...JSON_TYPE, ...work.sign('POST', '/orders', order) }, json: summary });
  const missing = get('/api/nothing/here', { status: 404, json: work.notFound('GET', '/api/nothing/here') });
  const routed = get('/api/users/42/orders/1001?fields=total&limit=20', {
    headers: { authorization: work.TOKEN },
    json: { user: '42', order: '1001', fields: 'total', limit: 20, by: work.USER.name },
    answered: { 'x-request-id': work.REQUEST_ID, 'x-content-type-options': 'nosniff' },
  });
  const upload = work.order(1344);
  const greeted = get('/', { json: work.GREETING });
  const secured = {
    headers: ORIGIN,
    answered: { 'access-control-allow-origin': '*', 'strict-transport-security': work.TRANSPORT_SECURITY, 'x-content-type-options': 'nosniff', 'x-frame-options': 'SAMEORIGIN' },
    present: SECURITY_FIELDS,
  };
  const deepest = (id: string): string => work.pathBelow(0).replace(':id', id);
  const refusedBodies = [
    post('/orders', '{"id":', { status: 400 }),
    { ...post('/orders', '', { status: 413, announced: work.BODY_LIMIT + 1 }), body: undefined },
  ];

  const cases: Case[] = [
    { name: 'static', title: 'static JSON', exchange: () => greeted, checks: () => [get('/other', { status: 404 })] },
    {
      name: 'routed',
      title: '30 routes, 3 middleware',
      exchange: () => routed,
      checks: () => [
        { ...routed, headers: {}, status: 401, json: undefined },
        { ...get('/api/users/me', { json: work.GREETING }), headers: routed.headers },
        { ...get('/api/users/J%C3%BCrgen/orders/7?fields=a%20b&limit=1', { json: { user: 'Jürgen', order: '7', fields: 'a b', limit: 1, by: work.USER.name } }), headers: routed.headers },
      ],
    },
    { name: 'post', title: 'POST 1 KB JSON', exchange: () => post('/orders', order, { json: summary }), checks: () => refusedBodies },
    {
      name: 'validated',
      title: 'POST 1 KB, zod schema',
      exchange: () => post('/orders', order, { json: summary }),
      checks: () => [...refusedBodies, post('/orders', order.replace('"quantity":1,', '"quantity":"1",'), { status: 400 }), post('/orders', '{}', { status: 400 })],
    },
    {
      name: 'signed',
      title: 'signed POST 1 KB',
      exchange: signed,
      checks: () => [
        { ...signed(), body: order.replace('Ada', 'Eve'), status: 401, json: work.UNSIGNED },
        { ...signed(), headers: JSON_TYPE, status: 401, json: undefined },
        { ...signed(), headers: { ...JSON_TYPE, ...work.sign('POST', '/orders', order, Date.now() - 600_000) }, status: 401, json: undefined },
        post('/orders', '{"id":', { headers: { ...JSON_TYPE, ...work.sign('POST', '/orders', '{"id":') }, status: 400 }),
      ],
    },
    {
      name: 'bigint',
      title: '10 KB JSON with BigInt',
      exchange: () => get('/', { json: work.rows(10_000, false) }),
      checks: () => [],
    },
    // With more connections much of a slice is what is under way at its end.
    { name: 'large', title: '1 MB JSON', connections: 4, exchange: () => get('/', { json: work.rows(1_000_000, false) }), checks: () => [] },
    { name: 'notfound', title: '404', exchange: () => missing, checks: () => [get('/health', { json: work.GREETING })] },
    {
      name: 'file',
      title: 'file of 64 KB',
      exchange: () => get(`/${work.FILE_NAME}`, { text: file }),
      checks: () => [get('/nothing.txt', { status: 404 })],
    },
    {
      name: 'routes',
      title: '1,000 routes',
      exchange: (size = 1000) => get(work.middlePath(size), { json: { id: '42' } }),
      checks: () => [get('/resource-0/items/J%C3%BCrgen', { json: { id: 'Jürgen' } }), get('/resource-1000/items/1', { status: 404 })],
    },
    {
      name: 'nested',
      title: '30 routes in 3 routers, two deep',
      exchange: () => get('/api/users/42/orders/1001', { json: { user: '42', order: '1001' } }),
      checks: () => [
        get('/api/users/J%C3%BCrgen/orders/7', { json: { user: 'Jürgen', order: '7' } }),
        ...['/health', '/api/search', '/api/users', '/api/users/me', '/api/products/7/reviews/3'].map((target) => get(target, { json: work.GREETING })),
        get('/api/users/42/nothing', { status: 404 }),
      ],
    },
    {
      name: 'middleware',
      title: '20 middleware',
      exchange: (size = 20) => get('/', { json: { count: size } }),
      checks: () => [],
    },
    { name: 'https', title: 'static JSON, HTTPS', exchange: () => ({ ...greeted, ca: work.certificate().cert }), checks: () => [get('/other', { status: 404, ca: work.certificate().cert })] },
    { name: 'tagged', title: '2 KB with ETag', exchange: () => get('/', { text: work.PAGE, type: 'text/html', tagged: true }), checks: () => [get('/', { text: work.PAGE, type: 'text/html', headers: { 'if-none-match': '"another"' }, tagged: true })] },
    {
      name: 'secured',
      title: 'helmet and cors',
      exchange: () => ({ ...greeted, ...secured }),
      checks: () => [{
        ...get('/', { status: 204, answered: { 'access-control-allow-origin': '*' }, present: ['access-control-allow-methods'] }),
        method: 'OPTIONS',
        headers: { ...ORIGIN, 'access-control-request-method': 'PUT' },
      }],
    },
    { name: 'upload', program: 'post', title: 'POST 100 KB JSON', exchange: () => post('/orders', JSON.stringify(upload), { json: work.summarize(upload) }), checks: () => refusedBodies },
    { name: 'slow', program: 'static', title: 'beside 100 slow clients', slowClients: 100, exchange: () => greeted, checks: () => [] },
    { name: 'pipelined', program: 'static', title: 'static JSON, 10 requests at a time', exchange: () => ({ ...greeted, pipelined: 10 }), checks: () => [] },
    {
      name: 'routers',
      title: 'routers in one another',
      exchange: () => get(deepest('42'), { json: { id: '42' } }),
      checks: () => [get(deepest('J%C3%BCrgen'), { json: { id: 'Jürgen' } }), get('/level-1/items/42', { status: 404 })],
    },
    {
      name: 'body',
      title: 'POST of a growing body',
      exchange: (size = 0) => (size === 0
        ? { method: 'POST', target: '/', headers: {}, status: 200, json: { length: 0 } }
        : post('/', JSON.stringify({ text: 'x'.repeat(size - 11) }), { json: { length: size - 11 } })),
      checks: () => [],
    },
  ];
  return new Map(cases.map((one) => [one.name, one]));
}
