import bodyParser from 'body-parser';
import compression from 'compression';
import history from 'connect-history-api-fallback';
import timeout from 'connect-timeout';
import cookieParser from 'cookie-parser';
import cors from 'cors';
import expressApp, { Router as ExpressRouter, type ErrorRequestHandler, type RequestHandler } from 'express';
import basicAuth from 'express-basic-auth';
import proxy from 'express-http-proxy';
import { expressjwt } from 'express-jwt';
import mongoSanitize from 'express-mongo-sanitize';
import * as OpenApiValidator from 'express-openapi-validator';
import { rateLimit } from 'express-rate-limit';
import session from 'express-session';
import { body, validationResult } from 'express-validator';
import { buildSchema } from 'graphql';
import { createHandler } from 'graphql-http/lib/use/express';
import helmet from 'helmet';
import hpp from 'hpp';
import { createProxyMiddleware } from 'http-proxy-middleware';
import methodOverride from 'method-override';
import morgan from 'morgan';
import multer from 'multer';
import passport from 'passport';
import pinoHttp from 'pino-http';
import responseTime from 'response-time';
import favicon from 'serve-favicon';
import serveStatic from 'serve-static';
import sirv from 'sirv';
import swaggerUi from 'swagger-ui-express';
import {
  createServer, express, type ErrorRequestHandler as ErrorRequestHandlerHere, type Express, type NextFunction, type Request, type RequestHandler as RequestHandlerHere, type Response, Router,
} from 'waypost';

// Whether this compiles is what `npm run types` tells: no registration of a package needs a cast.

const secret = 'an example secret';
const schema = buildSchema('type Query { a: Int }');
const middleware: RequestHandler = (_req, _res, next) => next();
const onError: ErrorRequestHandler = (error, _req, _res, next) => next(error);

test.each([['createServer()', () => createServer({ logging: { level: 'silent' } })], ['express()', () => express({ logging: { level: 'silent' } })]])('%s takes the packages by their types', (_name, make) => {
  const app = make();
  app.use(bodyParser.json(), bodyParser.urlencoded({ extended: false }), compression(), cookieParser(), cors(), helmet(), hpp(), mongoSanitize());
  app.use(history());
  app.use(timeout('5s'));
  app.use(session({ secret, resave: false, saveUninitialized: false }));
  app.use(passport.initialize());
  app.use(passport.session());
  app.use(rateLimit({ limit: 10 }));
  app.use(methodOverride());
  app.use(morgan('tiny'));
  app.use(pinoHttp({ level: 'silent' }));
  app.use(responseTime());
  app.use(favicon(Buffer.from('icon')));
  app.use('/static', serveStatic('.'), sirv('.'));
  app.use('/docs', swaggerUi.serve, swaggerUi.setup({}));
  app.use('/proxy', createProxyMiddleware({ target: 'http://localhost' }));
  app.use('/host', proxy('http://localhost'));
  app.use('/basic', basicAuth({ users: { a: 'b' } }));
  app.use('/token', expressjwt({ secret, algorithms: ['HS256'] }));
  app.use('/graphql', createHandler({ schema }));
  app.use(OpenApiValidator.middleware({ apiSpec: { openapi: '3.0.0', info: { title: 'a', version: '1' }, paths: {} } }));
  app.use(middleware);
  app.use(onError);
  app.use('/app', expressApp());
  app.use('/router', ExpressRouter());

  app.post('/upload', multer().single('file'), (req, res) => res.json(req.body));
  app.post('/login', passport.authenticate('session'), (_req, res) => res.end());
  app.post('/valid', body('name').notEmpty(), (req, res) => res.json(validationResult(req).array()));
  app.get('/limited/:id', rateLimit({ limit: 1 }), (req, res) => res.json(req.params.id));
  app.get('/cors', cors(), compression(), helmet(), middleware, (_req, res) => res.end());

  const router = Router();
  router.use(cors(), helmet());
  router.post('/upload/:id', multer().array('files'), (req, res) => res.json(req.params.id));
  router.get('/session', session({ secret, resave: false, saveUninitialized: false }), (_req, res) => res.end());
  app.use('/sub', middleware, router);

  expect(app.routes().map(({ path }) => path)).toEqual(['/upload', '/login', '/valid', '/limited/:id', '/cors', '/sub/upload/:id', '/sub/session']);
});

test('handlers may be typed by the names and type parameters of Express\'s types', () => {
  const guard: RequestHandlerHere = (_req, _res, next) => next();
  const byName: express.RequestHandler<{ id: string }, { a: number }, { b: string }> = (req, res) => void res.json({ a: req.body.b.length + req.params.id.length });
  const failed: ErrorRequestHandlerHere = (error, _req, _res, next) => next(error);
  const params = (req: Request<{ id: string }, unknown, { x: number }>, res: Response): void => void res.json([req.params.id, req.body.x]);
  const query = (req: Request<{ id: string }, unknown, unknown, { q: string }>, res: Response<{ a: number }, { b: number }>): void => void res.json({ a: req.query.q.length + res.locals.b });
  const hung = (req: express.Request, res: express.Response, next: NextFunction): void => (req.query['page'] === '1' ? void res.send('one') : next());
  const router: express.Router = express.Router();
  router.use(guard, hung);
  router.get('/:id', byName, params, query);
  const app: Express = express({ logging: { level: 'silent' } });
  const same: express.Application = app;
  app.use('/notes', guard, router);
  app.post('/notes/:id', guard, byName, params, query);
  app.use(hung, failed);
  app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => void res.status(500).send(error.message));
  expect(same.routes().map(({ path, handlers }) => [path, handlers])).toEqual([['/notes/:id', 3], ['/notes/:id', 4]]);
});
