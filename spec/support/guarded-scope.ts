import type { ScopeEntry } from 'waypost';

/** Whether what goes by that name may be reached by that method with a signature only. */
export type Guards = (method: string, name: string) => boolean;

/** A scope, and what it means for things that are known by their true name, worked out by hand. */
export interface GuardedScope {
  readonly includeRoutes: readonly ScopeEntry[];
  readonly excludeRoutes: readonly ScopeEntry[];
  readonly guards: Guards;
}

/** Paths that lead elsewhere: what stands behind one is the path that its request is rewritten to. */
export const DOORS = ['/old', '/norm', '/bounce', '/hop', '/boom', '/leap', '/spin', '/hand', '/pass'] as const;
const DOOR = DOORS.map((door) => door.slice(1)).join('|');

/** What the worlds hold, by its true name. */
export const NAMES: readonly string[] = [
  '/', '/health', '/open/x', '/open/key.txt', '/api', '/api/key', '/api/users', '/api/users/1', '/api/v1/secret', '/api/key.txt', '/api/files/key.txt', '/api/files/deep/key.txt',
  '/admin', '/admin/users', '/admin/public', '/admin/public/info', '/admin/public/key.txt', '/admin/key.txt', '/u/12', '/u/me', '/orders', '/acme/private/key', '/acme/private/key.txt', '/acme/public/key',
  '/f/report.json', '/f/report.txt', '/café/menu', '/moved/private/key', '/moved/public', '/c/ABC', '/c/abc',
];

/** Paths to begin an attack with. */
export const STARTS: readonly string[] = [
  ...NAMES, ...NAMES, '/api/a%2Fb', '/api/a%2Fb', '/api/a%252Fb', '/api/a%252Fb', ...DOORS.flatMap((door) => ['/api/key', '/api/v1/secret', '/admin/users', '/orders', '/u/12', '/acme/private/key', '/f/report.json'].map((name) => door + name)),
  ...Array.from({ length: 3 }, () => ['/moved/door/key', '/vault/private/key', '/vault/open', '/api/inner/secret', '/api/inner/a/b', '/api/express/secret', '/legacy/secret', '/api/files/key.txt']).flat(),
  // What is strict takes few disguises.
  ...Array<string>(9).fill('/legacy/secret'),
];

const under = (prefix: string, name: string): boolean => name === prefix || name.startsWith(`${prefix}/`);
const WRITES: readonly string[] = ['POST', 'DELETE'];
const READS: readonly string[] = ['GET', 'HEAD'];

export const SCOPES: Readonly<Record<string, GuardedScope>> = {
  'everything under a prefix': {
    includeRoutes: ['/api/**'],
    excludeRoutes: [],
    guards: (_, name) => under('/api', name),
  },
  'one segment and a constraint': {
    includeRoutes: ['/api/*', '/u/:id(\\d+)'],
    excludeRoutes: [],
    guards: (_, name) => /^\/(?:api\/[^/]+|u\/\d+)$/.test(name),
  },
  'a prefix less a part': {
    includeRoutes: ['/admin', '/admin/**'],
    excludeRoutes: ['/admin/public/**'],
    guards: (_, name) => under('/admin', name) && !/^\/admin\/public\/[^]/.test(name),
  },
  'wildcards with names and optional parts': {
    includeRoutes: ['/api{/*rest}', '/admin/*path', '/:tenant/private/*"a path"', '/c{/:code}', '/f/:name{.json}'],
    excludeRoutes: ['/admin/public{/:page}'],
    guards: (_, name) => under('/api', name) || (/^\/admin\/[^]/.test(name) && !/^\/admin\/public(?:\/[^/]+)?$/.test(name)) || /^\/(?:[^/]+\/private\/[^]+|c(?:\/[^/]+)?|f\/[^/]+)$/.test(name),
  },
  'methods': {
    includeRoutes: [{ path: '/api/**', methods: ['POST', 'DELETE'] }, { path: '/orders', methods: ['GET'] }],
    excludeRoutes: [{ path: '/api/users', methods: ['POST'] }],
    guards: (method, name) => (WRITES.includes(method) && under('/api', name) && !(method === 'POST' && name === '/api/users')) || (READS.includes(method) && name === '/orders'),
  },
  'all but the open': {
    includeRoutes: [],
    excludeRoutes: ['/', '/health', '/open/**', '/moved/door/*', ...DOORS.map((door) => `${door}/**`)],
    guards: (_, name) => !new RegExp(`^/(?:$|health$|(?:open|${DOOR})/[^]|moved/door/[^])`).test(name),
  },
  'parameters': {
    includeRoutes: ['/:tenant/private/*', '/f/:name.json', '/café/**', '/moved/private/:key', '/c/:code([A-Z]+)'],
    excludeRoutes: ['/public/private/*'],
    guards: (_, name) => /^\/(?:(?!public\/)[^/]+\/private\/[^/]+|c\/[A-Z]+|f\/[^/]+\.json|café(?:\/[^]*)?)$/.test(name),
  },
  'single paths': {
    includeRoutes: ['/api/v1/secret', '/admin/public/info', '/admin/key.txt', '/orders', '/api/inner/secret', '/api/express/secret', '/legacy/secret'],
    excludeRoutes: [],
    guards: (_, name) => /^\/(?:legacy\/secret|api\/v1\/secret|admin\/public\/info|admin\/key\.txt|orders|api\/(?:inner|express)\/secret)$/.test(name),
  },
  'all but what parameters and methods exempt': {
    includeRoutes: ['/**'],
    excludeRoutes: ['/f/:name.txt', '/open/*', { path: '/u/:id(\\d+)', methods: ['GET'] }, { path: '/**', methods: ['OPTIONS'] }, ...DOORS.map((door) => `${door}/**`)],
    guards: (method, name) => method !== 'OPTIONS' && !(method === 'GET' && /^\/u\/\d+$/.test(name)) && !new RegExp(`^/(?:f/[^/]+\\.txt$|open/[^/]+$|(?:${DOOR})/[^])`).test(name),
  },
};
