import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import compression from 'compression';
import cookieParser from 'cookie-parser';
import cors from 'cors';
import type { Express } from 'express';
import { rateLimit } from 'express-rate-limit';
import session from 'express-session';
import { body, validationResult } from 'express-validator';
import helmet from 'helmet';
import methodOverride from 'method-override';
import morgan from 'morgan';
import multer from 'multer';
import responseTime from 'response-time';
import { type Application, createServer, type CreateServerOptions, express } from 'waypost';
import { askHttp2, withoutConnection } from '../support/http2-client';
import { MULTIPART, multipart, type Part } from '../support/multipart';
import { portOf } from '../support/running';
import { type Answer, ask, type Question } from '../support/wire';

const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
const apps: Application[] = [];
let lines: string[] = [];

beforeAll(() => writeFileSync(join(folder, 'page.html'), '<p>page</p>'.repeat(500)));
afterAll(async () => {
  for (const app of apps) await app.close({ timeout: 0 });
  rmSync(folder, { recursive: true });
});

/** A program of Express's with eleven packages. */
function shop(options: CreateServerOptions): Application {
  const app = express({ env: 'production', logging: { level: 'silent' }, ...options }) as unknown as Express;
  app.use(responseTime(), morgan(':method :url :status', { stream: { write: (line) => void lines.push(line.trim()) } }));
  app.use(helmet(), cors(), compression(), cookieParser('secret'), methodOverride('X-HTTP-Method-Override'));
  app.use(session({ secret: 'secret', resave: false, saveUninitialized: false }));
  app.use('/limited', rateLimit({ limit: 1, windowMs: 60_000, standardHeaders: 'draft-8', legacyHeaders: false, validate: false }));
  app.get('/limited', (_req, res) => void res.send('once'));
  app.get('/visits', (req, res) => {
    const held = req.session as unknown as { visits?: number };
    held.visits = (held.visits ?? 0) + 1;
    res.cookie('seen', 'yes', { signed: true }).json({ visits: held.visits, seen: (req.signedCookies as { seen?: string }).seen });
  });
  app.post('/orders', express.json() as never, body('amount').isInt({ min: 1 }), (req, res) => {
    const found = validationResult(req);
    res.status(found.isEmpty() ? 201 : 400).json({ body: req.body as unknown, errors: found.array().length });
  });
  app.put('/orders', (req, res) => void res.json({ method: req.method }));
  app.post('/pictures', multer().single('picture'), (req, res) => void res.json({ name: req.file?.originalname, size: req.file?.size, title: (req.body as { title: string }).title }));
  app.use('/files', express.static(folder) as never);
  return app as unknown as Application;
}


/** A program of createServer. */
function api(options: CreateServerOptions): Application {
  const app = createServer({ env: 'test', etag: true, logging: { level: 'silent' }, ...options });
  app.use((req, res, next) => {
    res.set('X-Path', req.path);
    next();
  });
  app.get('/items/:id', (req, res) => res.json({ id: req.params.id, page: req.query['page'] }));
  app.post('/items', (req, res) => res.status(201).xJson({ item: req.body as unknown, price: 2n ** 70n }));
  app.get('/file', (_req, res) => res.sendFile(join(folder, 'page.html')));
  app.get('/gone', () => { throw Object.assign(new Error('It is gone'), { status: 410, expose: true }); });
  return app;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const PARTS: readonly Part[] = [['title', 'A picture'], ['picture', 'bytes', 'a.png', 'image/png']];

/** Requests, in order; `cookie` sends what the one before was given. */
const ASKED: Readonly<Record<string, { make(options: CreateServerOptions): Application; requests: readonly (readonly [string, Question?, 'cookie'?])[] }>> = {
  'express() with eleven packages': {
    make: shop,
    requests: [
      ['/visits'], ['/visits', {}, 'cookie'], ['/limited'], ['/limited'], ['/none'], ['/files/page.html', { headers: { 'accept-encoding': 'gzip' } }], ['/files/page.html', { headers: { range: 'bytes=0-9' } }],
      ['/orders', { method: 'POST', headers: JSON_TYPE, body: '{"amount":2}' }], ['/orders', { method: 'POST', headers: JSON_TYPE, body: '{"amount":0}' }], ['/orders', { method: 'POST', headers: JSON_TYPE, body: '{"amount"' }],
      ['/orders', { method: 'POST', headers: { 'x-http-method-override': 'PUT' } }], ['/orders', { method: 'OPTIONS', headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' } }],
      ['/pictures', { method: 'POST', headers: { 'content-type': MULTIPART }, body: multipart(PARTS) }],
    ],
  },
  'createServer()': {
    make: api,
    requests: [['/items/7?page=2'], ['/items', { method: 'POST', headers: JSON_TYPE, body: '{"a":1}' }], ['/items', { method: 'POST', headers: JSON_TYPE, body: '{' }], ['/file'], ['/gone'], ['/none'], ['/items/7', { method: 'HEAD' }]],
  },
};

function portrait({ status, headers, bytes }: Answer): object {
  const { date: _date, 'x-response-time': time, 'content-length': _length, 'set-cookie': cookies, ...rest } = withoutConnection(headers);
  const text = headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
  return { status, headers: { ...rest, timed: time !== undefined, cookies: (cookies as string[] | undefined)?.map((cookie) => cookie.replace(/=s%3A[^;]*/, '=…')) }, body: text.toString() };
}

test.each(Object.entries(ASKED))('%s answers alike over both protocols, by one option', async (_name, { make, requests }) => {
  const seen: unknown[] = [];
  for (const [options, send] of [[{}, ask], [{ server: { http2: 'cleartext' } }, askHttp2]] as const) {
    lines = [];
    const app = make(options);
    apps.push(app);
    const port = portOf(await app.start(0, '127.0.0.1'));
    const answers: object[] = [];
    let cookie = '';
    for (const [path, question = {}, keeps] of requests) {
      const answer = await send(port, path, keeps === undefined ? question : { ...question, headers: { cookie } });
      cookie = (answer.headers['set-cookie'] ?? []).map((line) => line.split(';', 1)[0]).join('; ');
      answers.push(portrait(answer));
    }
    seen.push({ answers, lines });
  }
  expect(seen[1]).toEqual(seen[0]);
  expect((seen[0] as { answers: { status: number }[] }).answers.map(({ status }) => status)).not.toContain(500);
});
