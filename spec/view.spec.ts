import { join } from 'node:path';
import express, { type Express } from 'express';
import fc from 'fast-check';
import { type Application, createServer, express as wayExpress, Response } from 'waypost';
import { answerErrors, ExpressOracle } from './support/express-oracle';
import { Folder } from './support/folder';
import { LogRecorder, Running } from './support/running';
import { ask, head, Wire } from './support/wire';

const running = new Running();
const folder = new Folder({
  'outside.html': 'secret of outside',
  'index.html': 'index of outside',
  'views-else/a.html': 'secret of else',
  'views/a.html': 'a {name}',
  'views/a.json.html': 'two dots',
  'views/post/index.html': 'index of post',
  'views/deep/b.html': 'b of views',
  'views/odd.send': 'no engine',
  'views/odd.absent-engine': 'no package',
  'more/b.html': 'b {name}',
  'more/deep/b.html': 'b of more',
});
const VIEWS = join(folder.path, 'views');
const MORE = join(folder.path, 'more');

afterEach(() => running.close());
afterAll(() => folder.close());

type Callback = (error?: unknown, html?: string) => void;
type Options = Record<string, unknown>;

/** An engine that shows the path, beneath the folder, and all that it was given. */
function show(path: string, options: object, callback: Callback): void {
  const { settings, ...given } = options as Options;
  callback(null, JSON.stringify([path.slice(folder.path.length), typeof settings, given]));
}

async function both(program: (app: Express) => void): Promise<ExpressOracle> {
  return running.keep(await ExpressOracle.start((app) => {
    app.engine('html', show).set('views', VIEWS).set('view engine', 'html');
    program(app);
    app.use(answerErrors);
  }));
}

function silent(apart = true): Application {
  const app = (apart ? createServer : wayExpress)({ env: 'test', logging: { level: 'silent' } });
  app.engine('html', show).set('views', VIEWS).set('view engine', 'html');
  return app;
}

/** What `app.render` calls back with. */
function rendered(app: Pick<Application, 'render'>, name: string, options?: object): Promise<string> {
  return new Promise((resolve, reject) => app.render(name, options, (error, html) => (error ? reject(error) : resolve(html))));
}

test('what a view is given: the locals of the application, of the response, the options, in this order', async () => {
  const [own, locals, options] = [0, 1, 2].map((from) => fc.dictionary(fc.constantFrom('name', 'title', 'user', '_locals', 'cache', 'toString'), fc.constantFrom<unknown>(from, null, undefined, false, ''), { maxKeys: 4 })) as [fc.Arbitrary<Options>, fc.Arbitrary<Options>, fc.Arbitrary<Options>];
  let given: Options[] = [];
  const oracle = await both((app) => {
    app.get('/', (_req, res) => {
      const [ours, theirs, at] = given as [Options, Options, Options];
      for (const name of Object.keys(app.locals)) if (name !== 'settings') delete app.locals[name];
      Object.assign(app.locals, ours);
      Object.assign(res.locals, theirs);
      res.render('a', { ...at });
    });
    app.get('/without', (_req, res) => res.render('a'));
    app.get('/null', (_req, res) => res.render('a', null as never));
  });
  await fc.assert(fc.asyncProperty(own, locals, options, async (...values) => {
    given = values;
    await oracle.ask('/');
    await oracle.ask('/without');
    await oracle.ask('/null');
  }), { numRuns: 40 });
});

test('names lead to the files that they lead to in Express, but for those outside', async () => {
  const part = fc.constantFrom('a', 'b', 'post', 'deep', '.', '', 'a.html', 'a.json', 'b.html', 'index', 'c');
  const oracle = await both((app) => {
    app.engine('json', show).set('views', [VIEWS, MORE]);
    app.get('/', (req, res) => res.render(String(req.query['name']), { cache: false }));
  });
  await fc.assert(fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 4 }), async (parts) => {
    // A name that starts with a slash is absolute.
    await oracle.ask(`/?name=${encodeURIComponent(parts.join('/').replace(/^\/+/, ''))}`);
  }), { numRuns: 150 });
});

test.each([true, false])('a name that a client gives leads past no guard of a path: createServer %p', async (apart) => {
  const app = silent(apart);
  app.use('/pages/deep', (_req, res) => void res.status(401).end('guarded'));
  app.get('/pages/*name', (req, res) => res.render(req.params.name.join('/')));
  app.get('/own', (_req, res) => res.render('./deep//../a'));
  const port = await running.start(app);
  const told = async (target: string): Promise<string> => (await Wire.tell(port, head(`GET ${target}`, { Connection: 'close' }))).replaceAll('\r\n', ' ');
  expect(await told('/pages/deep/b')).toContain('guarded');
  for (const target of ['/pages/a', '/pages/post', '/pages/a?x=/../.', '/own']) expect([target, await told(target)]).toEqual([target, expect.stringMatching(/^HTTP\/1\.1 200 /)]);
  for (const target of ['/pages/x/../deep/b', '/pages/x/%2e%2e/deep/b', '/pages/./deep/b', '/pages/%2e/deep/b', '/pages/post/.././deep/b', '/pages//deep/b']) {
    expect([target, await told(target)]).toEqual([target, expect.not.stringMatching(/^HTTP\/1\.1 200 |b of views/)]);
  }
});

describe('a name', () => {
  const attacks = ['../outside', '../outside.html', 'deep/../../outside', '../views-else/a', './../outside', 'post/../../outside.html', '../../../../../../../../../../../../etc/passwd', '..', '../', 'a/../..', '../views/../outside', '../outside\0.html'];
  const refused = /^Failed to lookup view ".*" in views directory ".*views"$/s;

  test.each(attacks)('%j does not lead out of the views', async (name) => {
    for (const app of [silent(), silent(false)]) await expect(rendered(app, name)).rejects.toThrow(refused);
  });

  test('such as ".." does not lead to the index of the directory above them', async () => {
    for (const name of ['..', './..', '...html', 'deep/../..', 'deep/../...html']) {
      for (const app of [silent(), silent(false)]) await expect(rendered(app, name)).rejects.toThrow(refused);
    }
    await expect(rendered(silent(), join(VIEWS, '..'))).rejects.toThrow(refused);
    expect(await rendered(silent(), 'post/inner/..')).toContain('/views/post/index.html');
  });

  test('may go up within them, and from one directory of views to another', async () => {
    const app = silent();
    expect(await rendered(app, 'deep/../a')).toContain('/views/a.html');
    await expect(rendered(app, '../more/b')).rejects.toThrow(refused);
    app.set('views', [VIEWS, MORE]);
    expect(await rendered(app, '../more/b')).toContain('/more/b.html');
    await expect(rendered(app, '../outside')).rejects.toThrow(`in views directories "${VIEWS}" or "${MORE}"`);
  });

  test('may be absolute: within the views, and as in Express anywhere where "absolute views" is on', async () => {
    const name = join(folder.path, 'outside');
    expect(await rendered(silent(), join(VIEWS, 'a'))).toContain('/views/a.html');
    await expect(rendered(silent(), name)).rejects.toThrow(refused);
    expect(await rendered(silent(false), name)).toContain('/outside.html');
    expect(await rendered(silent().enable('absolute views'), name)).toContain('/outside.html');
    await expect(rendered(silent(false).disable('absolute views'), name)).rejects.toThrow(refused);
  });

  test('keeps these rules where it is mounted in an application with others', async () => {
    const [outer, inner] = [silent(false), silent()];
    outer.use(inner);
    await expect(rendered(inner, join(folder.path, 'outside'))).rejects.toThrow(refused);
  });

  test('that a client gives loads no package but for a view that is there, and fills no cache', async () => {
    const app = silent().enable('view cache');
    await expect(rendered(app, 'x.absent-engine')).rejects.toThrow(/^Failed to lookup view/);
    for (const name of ['a', './a', 'deep/../a', 'deep/../deep/../a', './deep/.././a', './/a', 'deep//b', 'deep/./b', 'deep/b', 'absent']) await rendered(app, name).catch(() => undefined);
    expect(Object.keys(app.cache).sort()).toEqual(['./a', 'a', 'deep/b']);
  });
});

test('an engine is loaded by the extension; what keeps it from that is told', async () => {
  const oracle = await both((app) => {
    app.get('/:name', (req, res) => res.render(req.params.name));
    app.use((error: Error, _req: unknown, res: express.Response, _next: unknown) => void res.json(/Cannot find module|does not provide a view engine|No default engine was specified/.exec(error.message)?.[0]));
  });
  expect((await oracle.ask('/odd.send')).body).toBe('"does not provide a view engine"');
  expect((await oracle.ask('/odd.absent-engine')).body).toBe('"Cannot find module"');

  const app = silent().set('view engine', undefined);
  expect(() => app.render('a', () => undefined)).toThrow('No default engine was specified and no extension was provided for the view "a": write app.set(\'view engine\', \'pug\'), or render("a.pug")');
  expect(() => app.render('odd.absent-engine', () => undefined)).toThrow('Cannot find module "absent-engine", the engine of views with the extension ".absent-engine": npm install absent-engine, or app.engine("absent-engine", (path, options, callback) => …)');
  expect(() => app.render('odd.send', () => undefined)).toThrow('Module "send" does not provide a view engine: it has no function __express; write app.engine("send", (path, options, callback) => …)');
});

test('wrong arguments are refused with what to write', () => {
  const app = silent();
  expect(() => app.engine('html', null as never)).toThrow('engine(\'html\', …) got null: callback function required, such as (path, options, callback) => …');
  expect(() => app.engine(1 as never, show)).toThrow('engine() needs an extension such as "html", got 1');
  expect(() => app.render('a', {}, undefined as never)).toThrow('render(\'a\', …) needs a callback (error, html), got undefined');
  expect(() => app.render(undefined as never, () => undefined)).toThrow('render() needs the name of a view, got undefined');
  expect(() => Response.prototype.render.call(new Response({ method: 'GET' } as never), 'a')).toThrow('The view "a" can\'t be rendered: the response belongs to no application');
});

test('errors reach the callback, or error middleware behind the route', async () => {
  const fail: Record<string, (path: string, options: object, callback: Callback) => unknown> = {
    early: (_path, _options, callback) => callback(new Error('early')),
    late: (_path, _options, callback) => setImmediate(callback, new Error('late')),
    thrown: () => { throw new Error('thrown'); },
  };
  const oracle = await both((app) => {
    app.engine('html', (path, options, callback) => fail[(options as Options)['how'] as string]!(path, options, callback));
    app.get('/:how', (req, res) => res.render('a', { how: req.params.how }), (_req, res) => void res.send('not this'));
    app.get('/:how/heard', (req, res) => res.render('a', { how: req.params.how }, (error) => void res.status(418).send(`heard ${error.message}`)));
    app.get('/missing/view', (_req, res) => res.render('absent'));
    app.get('/missing/heard/view', (_req, res) => res.render('absent', (error: Error) => void res.send(`heard ${error.message} ${String((error as Error & { view: { name: string } }).view.name)}`)));
  });
  for (const how of Object.keys(fail)) {
    expect(await oracle.ask(`/${how}`)).toMatchObject({ status: 500, body: `{"failed":"${how}"}` });
    expect((await oracle.ask(`/${how}/heard`)).body).toBe(`heard ${how}`);
  }
  await oracle.ask('/missing/view');
  await oracle.ask('/missing/heard/view');
});

test('what Express ends the process by is an error of the request', async () => {
  const app = silent();
  app.engine('html', async (_path: string, options: object, callback: Callback) => {
    const { how } = options as Options;
    if (how === 'rejected') throw new Error('rejected');
    callback(null, 'html');
    if (how === 'twice') callback(null, 'html again');
  });
  app.get('/:how', (req, res) => {
    const { how } = req.params;
    if (how === 'callback') res.render('a', () => { throw new Error('callback'); });
    else if (how === 'promise') res.render('a', async () => { throw new Error('promise'); });
    else res.render('a', { how });
  });
  app.use(answerErrors as never);
  const port = await running.start(app);
  for (const how of ['rejected', 'callback', 'promise']) expect(await ask(port, `/${how}`)).toMatchObject({ status: 500, body: `{"failed":"${how}"}` });
  expect(await ask(port, '/twice')).toMatchObject({ status: 200, body: 'html' });
});

test('a view that is sent after the answer is logged, and harms nobody', async () => {
  const log = new LogRecorder();
  const app = createServer({ logging: { logger: log } });
  app.engine('html', show).set('views', VIEWS);
  app.get('/', (_req, res) => {
    res.render('a.html');
    res.end('first');
  });
  const port = await running.start(app);
  expect((await ask(port, '/')).body).toBe('first');
  expect((await ask(port, '/')).body).toBe('first');
  expect(log.messages('error')).toContain('An error was raised after the response had ended');
});

test('the text is sent as res.send sends it: HTML with a tag, 304, HEAD, and what the program has set', async () => {
  const oracle = await both((app) => {
    app.get('/', (_req, res) => res.render('a'));
    app.get('/set', (_req, res) => void res.status(201).type('text').render('a'));
    app.get('/own', (_req, res) => void res.set('ETag', '"x"').render('a'));
    app.get('/nothing', (_req, res) => res.render('a.none'));
    app.engine('none', (_path, _options, callback) => callback(null));
  });
  const { headers } = await oracle.ask('/');
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect((await oracle.ask('/', { headers: { 'if-none-match': headers['etag'] as string } })).status).toBe(304);
  for (const path of ['/set', '/own', '/nothing']) await oracle.ask(path);
  await oracle.ask('/', { method: 'HEAD' });
});

test('an application that is mounted has its own views, and the engines of its parent', async () => {
  const oracle = await both((app) => {
    const inner = (app.constructor.name === 'Application' ? createServer({ env: 'test', etag: 'weak', logging: { level: 'silent' } }) : express().set('env', 'test')) as unknown as Express;
    inner.disable('x-powered-by');
    const note = { beforehand: inner.get('views') === join(process.cwd(), 'views') };
    app.use('/inner', inner);
    Object.assign(note, { engine: inner.get('view engine'), views: inner.get('views') === join(process.cwd(), 'views'), cache: inner.get('view cache') });
    inner.set('views', MORE).get('/note', (_req, res) => void res.json(note));
    inner.locals['of'] = 'inner';
    app.locals['of'] = 'outer';
    app.locals['more'] = 'outer';
    inner.get('/', (_req, res) => res.render('b'));
    inner.get('/left', (_req, _res, next) => next());
    app.get('/inner/left', (_req, res) => res.render('a'));
    inner.get('/outer', (_req, res) => res.render('a', (error: Error) => void res.json(error.message.includes(MORE))));
    inner.engine('own', show).engine('html', show);
    app.get('/own', (_req, res) => void res.json(Object.keys((app as unknown as { engines: object }).engines)));
  });
  expect((await oracle.ask('/inner/note')).body).toBe('{"beforehand":true,"engine":"html","views":true}');
  expect((await oracle.ask('/inner')).body).toContain('"/more/b.html"');
  for (const path of ['/inner/left', '/inner/outer', '/own']) await oracle.ask(path);
});

test('the settings are those of Express', () => {
  const kept = ['view engine', 'views', 'view cache'];
  for (const env of ['production', 'development', 'test']) {
    const [mine, theirs] = [createServer({ env, logging: { level: 'silent' } }), express().set('env', env)];
    expect(kept.map((name) => mine.get(name) as unknown)).toEqual([undefined, theirs.get('views') as string, env === 'production' ? true : undefined]);
    expect(typeof mine.get('view')).toBe('function');
  }
});

test('a class in the setting "view" stands in for waypost\'s own, as in Express', async () => {
  const oracle = await both((app) => {
    class Made {
      readonly path: string;
      constructor(readonly name: string, readonly options: Options) {
        this.path = name === 'absent' ? '' : name;
      }
      root = 'nowhere';
      render(options: Options, callback: Callback): void {
        const { engines, absolute: _own, ...rest } = this.options;
        callback(null, JSON.stringify([this.name, rest, Object.keys(engines as object), options['cache'], options['one']]));
      }
    }
    app.set('view', Made).set('views', 'anything');
    app.get('/:name', (req, res) => res.render(req.params.name, { one: 1 }));
    app.get('/twice/cached', (_req, res) => app.render('x', { cache: true }, () => app.render('x', { cache: true }, (_error, html) => void res.send(html))));
  });
  for (const path of ['/some', '/absent', '/twice/cached']) await oracle.ask(path);
});

test('with "view cache" a view is looked up once, without it each time', async () => {
  for (const cached of [true, false]) {
    const app = silent().set('view cache', cached);
    const own = new Folder({ 'late.html': '' });
    app.set('views', own.path);
    await rendered(app, 'late');
    own.close();
    expect(await rendered(app, 'late').then(() => true, () => false)).toBe(cached);
    app.cache = {};
    await expect(rendered(app, 'late')).rejects.toThrow('Failed to lookup view');
  }
});
