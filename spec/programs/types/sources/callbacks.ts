/**
 * Callbacks that programs give to packages, typed by Express's names, additions to Express's types in both ways, and
 * what takes the last of a method's overloads. It is compiled by Express's types and by waypost/express's.
 */
import compression from 'compression';
import express, { type Express as App, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import asyncHandler from 'express-async-handler';
import { expressjwt, type GetVerificationKey } from 'express-jwt';
import { ipKeyGenerator, rateLimit, type ValueDeterminingMiddleware } from 'express-rate-limit';
import session from 'express-session';
import multer, { type FileFilterCallback } from 'multer';
import passport from 'passport';
import { Strategy, type JwtFromRequestFunction } from 'passport-jwt';

declare module 'express-serve-static-core' {
  interface Request {
    tenant?: string;
  }
  interface Response {
    flushed?: boolean;
  }
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- as Express's types ask for
  namespace Express {
    interface Request {
      account?: { name: string };
      // Names that waypost has, too.
      rawBody?: Buffer;
      id?: number;
    }
    interface Locals {
      startedAt?: number;
    }
  }
}

const secret = 'an example secret';

// Twelve callbacks: multer, express-session, express-rate-limit, compression, express-jwt, passport-jwt, express-async-handler.
const destination = (req: Request, file: Express.Multer.File, done: (error: Error | null, folder: string) => void): void => done(null, `/tmp/${req.tenant ?? file.fieldname}`);
const filename = (req: Request, file: Express.Multer.File, done: (error: Error | null, name: string) => void): void => done(null, `${req.ip ?? ''}-${file.originalname}`);
const fileFilter = (req: Request, file: Express.Multer.File, done: FileFilterCallback): void => done(null, req.is('multipart/form-data') !== null && file.mimetype === 'image/png');
const genid = (req: Request): string => `${req.tenant ?? 'none'}:${Math.random()}`;
const keyGenerator: ValueDeterminingMiddleware<string> = (req: Request): string => req.account?.name ?? ipKeyGenerator(req.ip ?? '');
const skip = (req: Request, res: Response): boolean => req.path === '/health' || res.statusCode === 304;
const limited = (req: Request, res: Response, next: NextFunction): void => (req.xhr ? void res.status(429).json({ error: 'later' }) : next());
const filter: compression.CompressionFilter = (req: Request, res: Response): boolean => req.headers['x-plain'] === undefined && compression.filter(req, res);
const getToken = (req: Request): string | undefined => req.query.token as string | undefined;
const key: GetVerificationKey = (req: Request) => `${secret}${req.tenant ?? ''}`;
const fromCookie: JwtFromRequestFunction<Request> = (req: Request): string | null => req.cookies.jwt ?? null;
const load = asyncHandler(async (req: Request, res: Response, next: NextFunction) => {
  await Promise.resolve();
  if (req.params.id === '0') next();
  else res.locals.startedAt = Date.now();
});

// Additions.
const tenant: RequestHandler = (req, res, next) => {
  const raw: Buffer | undefined = req.rawBody;
  const id: number | undefined = req.id;
  req.tenant = req.get('X-Tenant');
  req.account = { name: String(raw?.length ?? id) };
  res.flushed = false;
  next();
};

// What takes types off the overloads of a method takes those of the last.
const set: (...given: Parameters<Response['set']>) => void = (field: string, value?: string | string[]) => void [field, value];
const header: (...given: Parameters<Response['header']>) => void = (field: string, value?: string | string[]) => void [field, value];

export function createApp(): App {
  const app = express();
  app.use(tenant, compression({ filter }), session({ secret, genid, resave: false, saveUninitialized: false }));
  app.use(rateLimit({ keyGenerator, skip, handler: limited, limit: (req: Request) => (req.account ? 100 : 10) }));
  app.use('/api', expressjwt({ secret: key, getToken, algorithms: ['HS256'], onExpired: (req: Request) => void req.path }));
  passport.use(new Strategy({ jwtFromRequest: fromCookie, secretOrKey: secret, passReqToCallback: true }, (req: Request, payload: { name: string }, done: (error: unknown, user?: object | false) => void) => done(null, req.tenant === undefined ? false : payload)));
  app.post('/files/:id', multer({ storage: multer.diskStorage({ destination, filename }), fileFilter }).single('file'), load, (req, res) => {
    const name = req.params.id;
    res.json([name, req.file?.size, req.tenant, res.locals.startedAt]);
  });
  app.get('/mock', (_req, res) => {
    set('X-A', 'b');
    header('X-A', 'b');
    res.end();
  });
  return app;
}
