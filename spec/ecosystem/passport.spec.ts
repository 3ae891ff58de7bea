import bodyParser from 'body-parser';
import type { Express } from 'express';
import session from 'express-session';
import jwt from 'jsonwebtoken';
import { Passport } from 'passport';
import { ExtractJwt, Strategy as JwtStrategy } from 'passport-jwt';
import { Strategy as LocalStrategy } from 'passport-local';
import { answerErrors, ExpressOracle } from '../support/express-oracle';

const SECRET = 'an example secret for tokens';
const PEOPLE = new Map([['ada', { id: 'ada', password: 'engine' }]]);
let oracle: ExpressOracle;

function program(app: Express): void {
  const passport = new Passport();
  passport.serializeUser((user, done) => done(null, (user as { id: string }).id));
  passport.deserializeUser((id: string, done) => done(null, PEOPLE.get(id) ?? false));
  passport.use(new LocalStrategy((name, password, done) => {
    if (name === 'crash') return done(new Error('no database'));
    const user = PEOPLE.get(name);
    if (user?.password === password) done(null, user);
    else done(null, false, { message: 'wrong name or password' });
  }));
  passport.use(new JwtStrategy({ jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(), secretOrKey: SECRET }, ({ sub }, done) => done(null, PEOPLE.get(sub) ?? false)));

  app.use('/token', passport.authenticate('jwt', { session: false }));
  app.get('/token/me', (req, res) => void res.json([req.user, req.isAuthenticated()]));

  app.use(session({ secret: SECRET, resave: false, saveUninitialized: false, name: 'sid' }));
  app.use(passport.session());
  app.post('/login', bodyParser.urlencoded({ extended: false }), passport.authenticate('local', { successRedirect: '/me', failureRedirect: '/login?failed' }));
  app.post('/api/login', bodyParser.json(), passport.authenticate('local'), (req, res) => void res.json(req.user));
  app.get('/me', (req, res) => {
    if (req.isAuthenticated()) res.json(req.user);
    else res.sendStatus(401);
  });
  app.post('/logout', (req, res, next) => req.logout((error) => (error ? next(error) : res.redirect('/'))));
  app.use(answerErrors);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program, {}, [[/sid=s%3A[^;]+/, 'sid=…']]);
});

afterAll(() => oracle.close());

test('logs in by a form, keeps the user in the session, and logs out', async () => {
  const ada = oracle.visitor();
  expect((await ada.ask('/me')).status).toBe(401);
  expect(await ada.post('/login', 'username=ada&password=engine')).toMatchObject({ status: 302, headers: { location: '/me', 'set-cookie': [expect.any(String)] } });
  expect(JSON.parse((await ada.ask('/me')).body)).toEqual(PEOPLE.get('ada'));
  expect((await ada.post('/logout', '')).headers['location']).toBe('/');
  expect((await ada.ask('/me')).status).toBe(401);
});

test('gives the session a new id at login', async () => {
  const ada = oracle.visitor();
  await ada.post('/login', 'username=ada&password=engine');
  const first = ada.jar('waypost').get('sid');
  await ada.post('/login', 'username=ada&password=engine');
  expect(first).toBeDefined();
  expect(ada.jar('waypost').get('sid')).not.toBe(first);
});

test('logs in by JSON', async () => {
  const ada = oracle.visitor();
  expect(await ada.post('/api/login', JSON.stringify({ username: 'ada', password: 'engine' }), 'application/json')).toMatchObject({ status: 200 });
  expect((await ada.ask('/me')).status).toBe(200);
});

test('refuses wrong passwords, missing ones, and what fails', async () => {
  expect((await oracle.post('/login', 'username=ada&password=x', 'application/x-www-form-urlencoded')).headers['location']).toBe('/login?failed');
  expect((await oracle.post('/api/login', '{"username":"ada","password":"x"}')).status).toBe(401);
  expect((await oracle.post('/api/login', '{}')).status).toBe(400);
  expect(await oracle.post('/api/login', '{"username":"crash","password":"x"}')).toMatchObject({ status: 500, body: '{"failed":"no database"}' });
});

test('takes tokens, and refuses forged, expired and missing ones', async () => {
  const token = (secret: string, expiresIn: number, sub = 'ada'): { headers: Record<string, string> } => ({ headers: { authorization: `Bearer ${jwt.sign({ sub }, secret, { expiresIn })}` } });
  expect(JSON.parse((await oracle.ask('/token/me', token(SECRET, 60))).body)).toEqual([PEOPLE.get('ada'), true]);
  for (const question of [token('another', 60), token(SECRET, -1), token(SECRET, 60, 'eve'), {}]) {
    expect(await oracle.ask('/token/me', question)).toMatchObject({ status: 401, body: 'Unauthorized' });
  }
});
