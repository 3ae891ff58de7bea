import type { RequestHandler } from 'express';
import { type ExpressModule, onBoth } from './support/both-expresses';
import { head, Wire } from './support/wire';
import { Running } from './support/running';

const running = new Running();
afterEach(() => running.close());

const refuses: RequestHandler = (req, res) => void res.status(401).end(`refused ${req.baseUrl} ${req.url}`);
const reached: RequestHandler = (req, res) => void res.end(`reached ${req.baseUrl} ${req.url} ${JSON.stringify(req.params)}`);

type Registrar = ReturnType<ExpressModule>;

/** Guards, some of which meet what is no path. */
const GUARDS: Record<string, (app: Registrar) => unknown> = {
  'a route of everything': (app) => app.all('/{*any}', refuses),
  'a route of a segment': (app) => app.all('/:any', refuses),
  'a wildcard without a slash': (app) => app.all('*any', refuses),
  'a RegExp for everything': (app) => app.all(/.*/, refuses),
  'a RegExp for slashes': (app) => app.all(/^\/.*/, refuses),
  'a RegExp within': (app) => app.all(/secret/, refuses),
  'middleware with a parameter': (app) => app.use('/:any', refuses),
  'middleware with a wildcard': (app) => app.use('*any', refuses),
  'middleware at a RegExp': (app) => app.use(/^\*/, refuses),
  'middleware that makes the URL anew': (app) => app.use((req, _res, next) => {
    const { url } = req;
    req.url = url;
    next();
  }).all('/{*any}', refuses),
  'middleware': (app) => app.use(refuses),
};

/** What stands behind, by itself or in something that routes by itself. */
const BEHIND: Record<string, (app: Registrar, express: ExpressModule) => unknown> = {
  'routes': (app) => app.get('/:tenant/secret', reached).all('/{*path}', reached),
  'middleware': (app) => app.use(reached),
  'a router': (app, express) => app.use(express.Router().get('/:tenant/secret', reached).all('/{*path}', reached)),
  'an application': (app, express) => app.use(express().get('/:tenant/secret', reached).all('/{*path}', reached)),
  'a router that is called': (app, express) => {
    const router = express.Router().get('/:tenant/secret', reached).all('/{*path}', reached);
    app.use((req, res, next) => router(req, res, next));
  },
};

const TARGETS = ['*', '*/secret', '*x/secret?q=1', '*/../secret', '*/%2e%2e/secret', '/t/secret'];

describe('a target that is no path, as by Express', () => {
  test.each(Object.keys(GUARDS).flatMap((guard) => Object.keys(BEHIND).map((behind) => [guard, behind] as const)))('%s before %s', async (guard, behind) => {
    await onBoth(async (express) => {
      const app = express();
      (GUARDS[guard] as (app: Registrar) => unknown)(app);
      (BEHIND[behind] as (app: Registrar, express: ExpressModule) => unknown)(app, express);
      const port = await running.serve(app as never);
      const answers: string[] = [];
      for (const target of TARGETS) {
        for (const method of ['GET', 'DELETE']) {
          const text = await Wire.tell(port, head(`${method} ${target}`, { Connection: 'close' }));
          const status = text.slice(9, 12);
          answers.push(`${method} ${target} ${status} ${status === '404' ? '' : text.slice(text.indexOf('\r\n\r\n') + 4)}`);
        }
      }
      return answers;
    });
  });
});
