/**
 * A program written for Express in strict TypeScript. It is compiled twice and
 * never run: as it stands, by Express's types, and with nothing changed but
 * where it imports them from, by waypost's (express-program.spec.ts).
 */
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import cookieParser from 'cookie-parser';
import cors from 'cors';
import express, {
  type Application, type CookieOptions, type ErrorRequestHandler, type Express, type Handler, type NextFunction, type Request, type RequestHandler, type RequestParamHandler, type Response, Router,
} from 'express';
import { rateLimit } from 'express-rate-limit';
import session from 'express-session';
import { body, validationResult } from 'express-validator';
import helmet from 'helmet';
import morgan from 'morgan';
import multer, { MulterError } from 'multer';
import passport from 'passport';
import { Strategy as LocalStrategy } from 'passport-local';

interface Account {
  readonly name: string;
  readonly role: 'reader' | 'writer';
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- as @types/passport has it done
  namespace Express {
    // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- likewise
    interface User extends Account {}
    interface Request {
      requestId?: string;
      note?: Note;
    }
    interface Locals {
      startedAt?: number;
    }
  }
}

declare module 'express-session' {
  interface SessionData {
    views: number;
    returnTo?: string;
  }
}

interface Note {
  id: string;
  text: string;
  tags: string[];
}
type NewNote = Omit<Note, 'id'>;
interface Problem {
  error: string;
  details?: unknown[];
}
interface Page<T> {
  items: T[];
  page: number;
  next?: string;
}
interface ListQuery {
  page?: string;
  tag?: string | string[];
}
interface ViewLocals {
  account: Account;
  theme: 'dark' | 'light';
}

class HttpProblem extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

const notes = new Map<string, Note>();
const accounts = new Map<string, Account>([['ada', { name: 'ada', role: 'writer' }]]);
const cookieOptions: CookieOptions = { httpOnly: true, sameSite: 'lax', maxAge: 3_600_000, signed: true };

// Middleware.

const tagRequest: RequestHandler = (req, res, next) => {
  req.requestId = req.get('X-Request-Id') ?? Math.random().toString(36).slice(2);
  res.set('X-Request-Id', req.requestId);
  res.locals.startedAt = Date.now();
  next();
};

const timing: Handler = (req, res, next) => {
  const { method, originalUrl } = req;
  res.on('finish', () => console.log(`${method} ${originalUrl} ${res.statusCode} ${Date.now() - (res.locals.startedAt ?? 0)} ms`));
  next();
};

function requireRole(role: Account['role']): RequestHandler {
  return (req, res, next) => {
    if (!req.isAuthenticated()) {
      res.status(401).json({ error: 'log in first' });
      return;
    }
    if (req.user.role !== role) {
      res.status(403).json({ error: `needs ${role}` });
      return;
    }
    next();
  };
}

/** Hands on what an async handler rejects with. */
function wrap<P, ResBody, ReqBody, Query>(
  handler: (req: Request<P, ResBody, ReqBody, Query>, res: Response<ResBody>, next: NextFunction) => Promise<unknown>,
): RequestHandler<P, ResBody, ReqBody, Query> {
  return (req, res, next) => {
    handler(req, res, next).catch(next);
  };
}

function validated(req: Request, res: Response, next: NextFunction): void {
  const errors = validationResult(req);
  if (errors.isEmpty()) next();
  else res.status(422).json({ error: 'not valid', details: errors.array() });
}

function validBody<Body>(check: (value: unknown) => value is Body): RequestHandler<Record<string, string>, Problem, Body> {
  return (req, res, next) => {
    if (check(req.body)) next();
    else res.status(400).json({ error: 'not valid' });
  };
}

const isNewNote = (value: unknown): value is NewNote => typeof value === 'object' && value !== null && 'text' in value;

// A controller.

class NotesController {
  readonly list: RequestHandler<Record<string, string>, Page<Note>, never, ListQuery> = (req, res) => {
    const page = Number(req.query.page ?? '1');
    const tags = new Set([req.query.tag ?? []].flat());
    const items = [...notes.values()].filter((note) => tags.size === 0 || note.tags.some((tag) => tags.has(tag)));
    res.json({ items, page, next: `${req.baseUrl}?page=${page + 1}` });
  };

  show(req: Request<{ id: string }>, res: Response<Note | Problem>): void {
    const note = notes.get(req.params.id);
    if (note === undefined) res.status(404).json({ error: `no note ${req.params.id}` });
    else res.format({ json: () => res.json(note), text: () => res.send(note as never), default: () => res.sendStatus(406) });
  }

  async create(req: Request<Record<string, string>, Note, NewNote>, res: Response<Note>): Promise<void> {
    const note: Note = { id: String(notes.size + 1), text: req.body.text, tags: req.body.tags };
    notes.set(note.id, note);
    await Promise.resolve();
    res.status(201).location(`${req.baseUrl}/${note.id}`).json(note);
  }
}

const controller = new NotesController();

// Routers.

const findNote: RequestParamHandler = (req, _res, next, id: string, name) => {
  const note = notes.get(id);
  if (note === undefined) {
    next(new HttpProblem(404, `no ${name} ${id}`));
    return;
  }
  req.note = note;
  next();
};

const notesRouter = Router({ mergeParams: true });
notesRouter.param('id', findNote);
notesRouter.param('page', (_req, _res, next, page) => {
  next(Number.isNaN(Number(page)) ? new HttpProblem(400, 'no page') : undefined);
});
notesRouter.get('/', controller.list);
notesRouter.post('/', requireRole('writer'), validBody(isNewNote), wrap((req, res) => controller.create(req as Request<Record<string, string>, Note, NewNote>, res as Response<Note>)));
notesRouter.get('/:id', (req, res) => controller.show(req, res));
notesRouter.put('/:id', requireRole('writer'), body('text').notEmpty(), validated, (req, res) => {
  const { text, tags = [] } = req.body;
  const note: Note = { id: String(req.params.id), text: String(text), tags };
  notes.set(note.id, note);
  res.json(note);
});
notesRouter.patch<{ id: string }, Note | Problem, Partial<NewNote>>('/:id', (req, res) => {
  const note = notes.get(req.params.id);
  if (!note) return res.status(404).json({ error: 'gone' });
  return res.json(Object.assign(note, req.body.text === undefined ? {} : { text: req.body.text }));
});
notesRouter.delete<{ id: string }>('/:id', [requireRole('writer')], (req: Request<{ id: string }>, res: Response) => {
  notes.delete(req.params.id);
  res.status(204).end();
});
notesRouter
  .route('/:id/tags')
  .all((req, res, next) => {
    res.vary('Accept');
    next(req.note === undefined ? 'route' : undefined);
  })
  .get((req, res) => res.json(req.note?.tags))
  .post((req, res) => {
    req.note?.tags.push(...req.body);
    res.status(201).json(req.note?.tags);
  });

const pages: express.Router = express.Router();
const withLocals: RequestHandler<Record<string, string>, string, unknown, { theme?: string }, ViewLocals> = (req, res, next) => {
  res.locals.theme = req.query.theme === 'dark' ? 'dark' : 'light';
  res.locals.account = req.user ?? { name: 'nobody', role: 'reader' };
  next();
};
pages.use('/account', withLocals);
pages.get<string, Record<string, string>, string, never, { theme?: string }, ViewLocals>('/account', (req, res) => {
  const { account, theme } = res.locals;
  res.render('account', { name: account.name, theme, wanted: req.query.theme });
});
pages.get('/about', (req, res, next) => {
  res.render('about', { title: 'About' }, (error: Error | null, html: string) => {
    if (error) return next(error);
    res.type('html').send(html.replace('{host}', req.hostname));
  });
});
pages.get(['/', '/home'], (req, res) => {
  req.session.views = (req.session.views ?? 0) + 1;
  const theme: string = req.cookies.theme ?? 'light';
  const secret: string | undefined = req.signedCookies.secret;
  res.cookie('theme', theme, cookieOptions).cookie('seen', { at: Date.now() });
  res.send(`<p>${req.session.views} views by ${req.sessionID}, ${String(secret)}`);
});
pages.get('/search', (req: Request<object, string[], never, { q: string; limit?: string }>, res: Response<string[]>) => {
  const { q, limit } = req.query;
  res.json([...notes.values()].filter(({ text }) => text.includes(q)).slice(0, Number(limit ?? 10)).map(({ id }) => id));
});
pages.get('/query', (req, res) => {
  const page = req.query.page as string | undefined;
  const ids = ([] as string[]).concat((req.query.id as string[] | string | undefined) ?? []);
  res.jsonp({ page, ids, all: req.query, fresh: req.fresh, ip: req.ip, ips: req.ips, secure: req.secure, xhr: req.xhr, is: req.is('json'), accepts: req.accepts(['html', 'json']) });
});
pages.get('/range/:from-:to', (req, res) => {
  const [from, to]: [string, string] = [req.params.from, req.params.to];
  res.redirect(301, `/query?page=${from}&page=${to}`);
});

// Files.

const upload = multer({ storage: multer.memoryStorage(), limits: { fileSize: 1_000_000 }, fileFilter: (_req, file, done) => done(null, file.mimetype.startsWith('image/')) });
const files = Router();
files.post('/one', upload.single('picture'), (req, res) => {
  if (!req.file) throw new HttpProblem(400, 'no picture');
  const { originalname, size, buffer } = req.file;
  res.json({ originalname, size, first: buffer[0] });
});
files.post('/many', upload.array('pictures', 3), async (req, res, next) => {
  const given = req.files;
  if (!Array.isArray(given)) return next(new HttpProblem(400, 'no pictures'));
  const names: string[] = given.map((file: Express.Multer.File) => file.originalname);
  await Promise.resolve();
  res.json(names);
});
files.get('/:name', (req, res, next) => {
  res.sendFile(req.params.name, { root: join(__dirname, 'files'), dotfiles: 'deny', maxAge: '1d' }, (error) => {
    if (error) next(error);
  });
});
files.get('/:name/download', (req, res) => res.download(join('files', req.params.name), `copy of ${req.params.name}`));

// Log-in.

passport.use(new LocalStrategy((name, password, done) => done(null, password === 'engine' ? accounts.get(name) ?? false : false)));
passport.serializeUser((user, done) => done(null, user.name));
passport.deserializeUser((name: string, done) => done(null, accounts.get(name) ?? false));

function logIn(req: Request, res: Response, next: NextFunction): void {
  passport.authenticate('local', (error: unknown, user: Express.User | false) => {
    if (error) return next(error);
    if (!user) return res.status(401).json({ error: 'no' });
    req.login(user, (failure) => (failure ? next(failure) : res.redirect(req.session.returnTo ?? '/')));
  })(req, res, next);
}

// Errors.

const notFound: RequestHandler = (req, res) => {
  res.status(404).json({ error: `${req.method} ${req.path}: nothing here` });
};

const onError: ErrorRequestHandler = (error, req, res, next) => {
  if (res.headersSent) {
    next(error);
    return;
  }
  if (error instanceof MulterError) return void res.status(413).json({ error: error.code });
  const status: number = error.status ?? 500;
  if (status >= 500) console.error(req.requestId, error.stack);
  res.status(status).json({ error: error.message });
};

// The application.

export function createApp(development = false): Express {
  const app = express();
  app.set('trust proxy', 1);
  app.set('views', [join(__dirname, 'views')]).set('view engine', 'pug').enable('view cache');
  app.disable('x-powered-by');
  app.engine('txt', (path, options, callback) => callback(null, `${path} ${Object.keys(options).join()}`));
  app.locals.title = 'Notes';
  app.use(tagRequest, timing, helmet(), cors({ origin: true }));
  if (development) app.use(morgan('dev'));
  app.use(express.json({ limit: '100kb' }), express.urlencoded({ extended: true }));
  app.use(cookieParser('secret'));
  app.use(session({ secret: 'secret', resave: false, saveUninitialized: false, cookie: { secure: app.get('env') === 'production' } }));
  app.use(passport.initialize(), passport.session());
  app.use('/static', express.static(join(__dirname, 'public'), { maxAge: '1h', setHeaders: (res) => res.setHeader('X-Static', '1') }));
  app.use('/api', rateLimit({ windowMs: 60_000, limit: 100 }));
  app.use('/api/notes', notesRouter);
  app.use(['/files', '/pictures'], files);
  app.post('/login', logIn);
  app.post('/logout', requireRole('reader'), (req, res, next) => {
    req.logout((error) => {
      if (error) return next(error);
      res.clearCookie('theme').redirect('/');
    });
  });
  app.get('/health', (_req, res) => void res.send({ up: true, title: app.locals.title, mounted: app.mountpath }));
  app.get<{ id: string }, Note | Problem>('/short/:id', (req, res) => {
    const note = notes.get(req.params.id);
    res.json(note ?? { error: `${req.app.locals.title}: no such note` });
  });
  app.all('/echo', (req, res) => {
    res.append('Link', '</>; rel="up"').links({ next: '/echo?2' }).attachment('echo.json').json({ body: req.body, headers: req.headers, params: req.params });
  });
  app.use(pages);
  app.use(notFound);
  app.use(onError);
  app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => {
    res.status(500).send(error.message);
  });
  return app;
}

export function start(port: number | string): Server {
  const app: Application = createApp(process.env['NODE_ENV'] !== 'production');
  app.on('mount', (parent) => console.log(`mounted at ${String(app.mountpath)} in ${parent.path()}`));
  const outer = express();
  outer.use('/v1', app);
  const server = outer.listen(Number(port), '127.0.0.1', () => console.log('listening', server.address()));
  return server;
}

export const plain: Server = createServer(createApp());
