import { setTimeout } from 'node:timers/promises';
import { HttpError, Router } from 'waypost';

/** Ways to fail, and who answers. */
export const errors = Router();

class Washout extends Error {}

errors.get('/thrown', () => {
  throw new Error('The bridge is out');
});

errors.get('/rejected', async () => {
  await setTimeout(1);
  throw new Error('The bridge went out while we walked');
});

errors.get('/http', () => {
  throw new HttpError(410, 'PATH_CLOSED', 'This path was closed for good');
});

errors.get('/custom', () => {
  throw new Washout('ford');
});

// Error middleware has four parameters; it stands below the routes it answers for.
errors.use((error, req, res, next) => {
  if (!(error instanceof Washout)) return next(error);
  res.status(503).setHeader('Retry-After', '3600');
  res.json({ error: 'Washout', message: `The ${error.message} is under water` });
});

export const examples = {
  'GET /errors/thrown': {
    about: 'An error that no handler answers: 500, without details. The log has them.',
    lines: [{ status: 500, text: "curl -i '{origin}/errors/thrown'" }],
  },
  'GET /errors/rejected': {
    about: 'The same for an async handler.',
    lines: [{ status: 500, text: "curl -i '{origin}/errors/rejected'" }],
  },
  'GET /errors/http': {
    about: 'An HttpError carries a status and a message for the client.',
    lines: [{ status: 410, text: "curl -i '{origin}/errors/http'" }],
  },
  'GET /errors/custom': {
    about: 'An error that the router’s own error middleware answers.',
    lines: [
      { status: 503, text: "curl -i '{origin}/errors/custom'" },
      { status: 404, text: "curl -i '{origin}/errors/unknown'", about: 'No route matches.' },
    ],
  },
};
