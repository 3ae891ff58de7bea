// A notebook for several people: an Express program. With `import express from 'express'` it runs on Express.
import { express } from 'waypost';
import compression from 'compression';
import session from 'express-session';
import helmet from 'helmet';
import methodOverride from 'method-override';
import morgan from 'morgan';
import { accountRoutes, takeUser } from './accounts.mjs';
import { answerError, answerNotFound } from './errors.mjs';
import { noteRoutes } from './notes.mjs';
import { page } from './pages.mjs';
import { pictureRoutes } from './pictures.mjs';
import { Store } from './store.mjs';

const PUBLIC = new URL('./public', import.meta.url).pathname;

export function makeApp() {
  const app = express();
  const store = new Store();
  app.set('trust proxy', 'loopback');
  app.locals.title = 'Notebook';

  app.use(morgan(':method :url :status', { stream: process.stderr }));
  app.use(helmet());
  app.use(compression());
  app.use('/public', express.static(PUBLIC, { maxAge: '1h' }));
  app.use(express.json({ limit: '20kb' }));
  app.use(express.urlencoded({ extended: true }));
  app.use(methodOverride('_method'));
  app.use(session({
    secret: process.env.SESSION_SECRET || 'for this demo only',
    name: 'notebook',
    resave: false,
    saveUninitialized: false,
    cookie: { httpOnly: true, sameSite: 'lax', secure: 'auto' },
  }));
  app.use(takeUser(store));

  app.get('/', (req, res) => {
    const welcome = req.user ? `Hello, ${req.user.name}` : 'Please log in';
    res.send(page(req.app.locals.title, `<p>${welcome}</p>`));
  });
  app.get('/about', (req, res) => res.sendFile('about.html', { root: PUBLIC }));
  app.use('/accounts', accountRoutes(store));
  app.use('/notes', noteRoutes(store));
  app.use('/notes/:noteId/pictures', pictureRoutes(store));

  app.use(answerNotFound);
  app.use(answerError);
  return app;
}
