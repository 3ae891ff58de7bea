// Who may: accounts, log-in by a session, and the guard that other routers use.
import { Router } from 'waypost';
import { rateLimit } from 'express-rate-limit';
import { body, validationResult } from 'express-validator';
import { failure } from './errors.mjs';

/** Sets req.user where the session has one. */
export function takeUser(store) {
  return async (req, res, next) => {
    if (req.session.personId !== undefined) req.user = await store.findPerson(req.session.personId);
    next();
  };
}

export function requireUser(req, res, next) {
  next(req.user === undefined ? failure(401, 'Please log in') : undefined);
}

/** Refuses what the validators before it found wrong. */
export function requireValid(req, res, next) {
  const errors = validationResult(req);
  next(errors.isEmpty() ? undefined : failure(422, 'Some of that cannot be', errors.array().map(({ path, msg }) => ({ path, msg }))));
}

const credentials = [
  body('name').isString().trim().isLength({ min: 2, max: 20 }).withMessage('2 to 20 characters'),
  body('password').isString().isLength({ min: 8 }).withMessage('8 characters or more'),
  requireValid,
];

export function accountRoutes(store) {
  const router = Router();

  router.post('/', credentials, async (req, res) => {
    const person = await store.addPerson(req.body.name, req.body.password);
    if (person === undefined) throw failure(409, 'That name is taken');
    res.status(201).location(`${req.baseUrl}/me`).json({ name: person.name });
  });

  const attempts = rateLimit({ windowMs: 60_000, limit: 5, skipSuccessfulRequests: true, legacyHeaders: false });
  router.post('/login', attempts, credentials, async (req, res, next) => {
    const person = await store.checkPassword(req.body.name, req.body.password);
    if (person === undefined) throw failure(403, 'Wrong name or password');
    // A new session id at log-in: one that was planted before is worth nothing then.
    req.session.regenerate((error) => {
      if (error) {
        next(error);
        return;
      }
      req.session.personId = person.id;
      res.format({ json: () => res.json({ name: person.name }), html: () => res.redirect(303, '/notes') });
    });
  });

  router.post('/logout', (req, res, next) => {
    req.session.destroy((error) => (error ? next(error) : res.clearCookie('notebook').sendStatus(204)));
  });

  router.get('/me', requireUser, (req, res) => res.json({ name: req.user.name }));
  return router;
}
