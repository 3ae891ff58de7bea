import fc from 'fast-check';
import { type Application, createServer, express, type Handler, Router } from 'waypost';
import { Running } from './support/running';
import { runs } from './support/runs';
import { head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const guard: Handler = (_req, res) => void res.status(401).end('guarded');

/** Guards of a path, in all the ways to write it. */
const GUARDS: Readonly<Record<string, (app: Application) => unknown>> = {
  'text': (app) => app.use('/admin', guard),
  'a route': (app) => app.all('/admin/tokens', guard),
  'a RegExp': (app) => app.use(/^\/admin/, guard),
  'a RegExp of a whole path': (app) => app.all(/^\/admin\/tokens$/, guard),
  'a RegExp that captures': (app) => app.use(/^\/(?<area>admin)\/(tokens)/, guard),
  'a RegExp of a router': (app) => app.use(/^\/admin/, Router().use('/tokens', guard)),
  'a RegExp within a router': (app) => app.use('/admin', Router().use(/^\/tokens/, guard)),
  'a wildcard behind it': (app) => app.use('/admin/*any', guard),
  'a wildcard before it': (app) => app.use('/*any/tokens', guard),
  'an optional part': (app) => app.use('/admin{/tokens}', guard),
  'a parameter with a constraint': (app) => app.use('/:area(adm\\w+)', guard),
};

const SECRET = '/admin/tokens';
const letter = (text: string): fc.Arbitrary<string> => {
  if (text === '/') return fc.constant(text);
  const escaped = `%${text.charCodeAt(0).toString(16)}`;
  return fc.oneof({ weight: 3, arbitrary: fc.constant(text) }, { weight: 2, arbitrary: fc.constantFrom(escaped, ...(text === 'k' ? ['%E2%84%AA'] : [])) });
};
const spelling = fc.tuple(...[...SECRET].map(letter)).map((letters) => letters.join(''));

describe.each([['createServer', createServer], ['express', express]] as const)('a route of %s() is reached by no spelling past a guard of its path', (_, make) => {
  test.each(Object.entries(GUARDS))('by %s', async (__, register) => {
    const app = make({ logging: { level: 'silent' } });
    register(app);
    app.get(SECRET, (_req, res) => res.send('reached'));
    const port = await running.start(app);
    await fc.assert(fc.asyncProperty(spelling, async (target) => {
      expect([target, await Wire.tell(port, head(`GET ${target}`, { Connection: 'close' }))]).toEqual([target, expect.not.stringContaining('reached')]);
    }), { numRuns: runs(25), examples: [['/%61dmin/tokens'], ['/admin/%74okens'], ['/admin/to%E2%84%AAens']] });
  });
});

/** With a group that ignores case by itself, where this Node reads one. */
const SECRET_IN_A_GROUP = ((): RegExp => {
  try {
    return new RegExp('^/(?i:secret)$', 'u');
  } catch {
    return /^\/secret$/iu;
  }
})();

/** Guards and routes that read a path in two ways, and paths that the guard must meet or the route must not. */
const PAIRS: Readonly<Record<string, readonly [guard: string | RegExp, route: string | RegExp, targets: readonly string[]]>> = {
  'a reserved character before a parameter': ['/@admin', '/@:user', ['/%40admin', '/%40%61dmin', '/@%61dmin']],
  'one behind it': ['/jobs/7:cancel', '/jobs/:id\\:cancel', ['/jobs/7%3Acancel', '/jobs/7%3acancel', '/jobs/%37:cancel']],
  'one between two': ['/p/1,2', '/p/:a,:b', ['/p/1%2C2', '/p/%31,2']],
  'one beside a constraint': ['/@7', '/@:id(\\d+)', ['/%407', '/@%37']],
  'one that a RegExp guards': [/^\/@admin/, '/@:user', ['/%40admin', '/@%61dmin']],
  'a letter that is one of ASCII to a RegExp': ['/secret', /^\/(\w+)$/iu, ['/%C5%BFecret', '/s%65cret']],
  'a letter that has two capitals': [/^\/på/i, '/på/x', ['/p%E2%84%AB/x', '/P%C3%85/x']],
  'a letter that has two small ones': ['/λόγος', /^\/λόγος$/i, ['/%CE%BB%CF%8C%CE%B3%CE%BF%CF%83', '/%CE%9B%CF%8C%CE%B3%CE%BF%CE%A3']],
  'a letter with two small ones in a constraint': ['/λόγος', '/:name(λόγος)', ['/%CE%BB%CF%8C%CE%B3%CE%BF%CF%83']],
  'a letter of two code units': [/^\/𐐀/i, '/𐐀', ['/%F0%90%90%A8', '/%F0%90%90%80']],
  'a letter of two code units to a RegExp': ['/𐐀', /^\/𐐀$/iu, ['/%F0%90%90%A8', '/%F0%90%90%80']],
  'a sharp s that is a capital': ['/straße', /^\/straße$/iu, ['/stra%E1%BA%9Ee', '/stra%C3%9Fe']],
  'a letter that a group alone folds': ['/secret', SECRET_IN_A_GROUP, ['/%C5%BFecret', '/s%65cret']],
  'the Kelvin sign as text': ['/task-secret', '/task-:id', ['/tas%E2%84%AA-secret', '/tas%6B-secret']],
};

test('no letter that has two small ones leads past the check of a signature', async () => {
  const app = createServer({
    logging: { level: 'silent' }, routing: { caseSensitive: false }, security: { requestSignature: { secret: 'a secret of 32 bytes and some more' }, routeConfig: { requestSignature: { includeRoutes: ['/λόγος'] } } },
  });
  app.get(/^\/λόγος$/i, (_req, res) => res.send('reached'));
  const port = await running.start(app);
  for (const target of ['/λόγος', '/λόγοσ', '/ΛΌΓΟΣ']) expect([target, (await fetch(`http://127.0.0.1:${port}${encodeURI(target)}`)).status]).toEqual([target, 401]);
});

describe.each([['createServer', createServer], ['express', express]] as const)('no route of %s() takes a spelling that a guard of the same text passes over:', (_, make) => {
  test.each(Object.entries(PAIRS))('%s', async (__, [guarded, route, targets]) => {
    const app = make({ logging: { level: 'silent' }, routing: { caseSensitive: false } } as Parameters<typeof make>[0]);
    app.use(guarded, guard);
    app.get(route, (_req, res) => res.send('reached'));
    const port = await running.start(app);
    for (const target of targets) expect([target, await Wire.tell(port, head(`GET ${target}`, { Connection: 'close' }))]).toEqual([target, expect.not.stringContaining('reached')]);
  });

  test('a doubled slash before what a RegExp guards, where it counts as one', async () => {
    const app = createServer({ logging: { level: 'silent' }, routing: { ignoreDuplicateSlashes: true } });
    app.use(/^\/admin/, guard).use('/in', Router().use(/^\/secret/, guard));
    for (const path of ['/admin/tokens', '/in/secret']) app.get(path, (_req, res) => res.send('reached'));
    const port = await running.start(app);
    for (const target of ['//admin/tokens', '//%61dmin//tokens', '/in//secret', '//in//secret']) {
      expect([target, await Wire.tell(port, head(`GET ${target}`, { Connection: 'close' }))]).toEqual([target, expect.not.stringContaining('reached')]);
    }
  });

  test('what a reserved character stands beside is captured decoded, and no escape is cut in two', async () => {
    const app = make({ logging: { level: 'silent' } });
    app.get('/@:user', (req, res) => res.json(req.params)).get('/p/:a,:b', (req, res) => res.json(req.params)).get('/c/\\::x([^]+):y', (req, res) => res.json(req.params));
    const port = await running.start(app);
    const answers = [];
    for (const target of ['/@J%C3%BCrgen%40home%F0%9F%90%A4', '/p/a%2Cb,%2541', '/p/%252C,%20', '/c/:a%2F', '/c/:a%3A']) {
      answers.push(await (await fetch(`http://127.0.0.1:${port}${target}`)).json());
    }
    expect(answers).toEqual([{ user: 'Jürgen@home🐤' }, { a: 'a,b', b: '%41' }, { a: '%2C', b: ' ' }, { x: 'a', y: '/' }, { x: 'a', y: ':' }]);
  });
});
