// A person's notes.
import { Router } from 'waypost';
import { body, query } from 'express-validator';
import { requireUser, requireValid } from './accounts.mjs';
import { failure } from './errors.mjs';
import { notesPage, page, escapeHtml } from './pages.mjs';

const noteFields = [
  body('text').isString().trim().isLength({ min: 1, max: 500 }).withMessage('1 to 500 characters'),
  body('tags').default([]).isArray({ max: 5 }).withMessage('at most five'),
  body('tags.*').isString().toLowerCase(),
  requireValid,
];

/** Answers a handler for router.param that finds a note and lets only its owner see it. */
export function findNote(store) {
  return (req, res, next, id) => {
    store.findNote(id).then((note) => {
      if (note === undefined || note.owner !== req.user?.id) throw failure(404, `There is no note ${id}`);
      req.note = note;
      next();
    }).catch(next);
  };
}

export function noteRoutes(store) {
  const router = Router();
  router.use(requireUser);
  router.param('id', findNote(store));

  router.get('/', query('page').default('1').isInt({ min: 1 }), requireValid, async (req, res) => {
    const { word, tag } = req.query;
    const notes = await store.findNotes(req.user.id, { word, tag });
    const shown = notes.slice((Number(req.query.page ?? 1) - 1) * 10).slice(0, 10);
    res.set('X-Total', notes.length).vary('Accept');
    res.format({
      html: () => res.send(notesPage(`Notes of ${req.user.name}`, shown)),
      json: () => res.json(shown),
    });
  });

  router.post('/', noteFields, async (req, res) => {
    const note = await store.addNote(req.user.id, req.body);
    res.status(201).location(`${req.baseUrl}/${note.id}`).json(note);
  });

  router.route('/:id')
    .get((req, res) => {
      res.format({
        json: () => res.json(req.note),
        html: () => res.send(page(`Note ${req.note.id}`, `<p>${escapeHtml(req.note.text)}</p>`)),
      });
    })
    .put(noteFields, (req, res) => {
      const { text, tags } = req.body;
      res.json(Object.assign(req.note, { text, tags }));
    })
    .delete(async (req, res) => {
      await store.removeNote(req.params.id);
      res.status(204).end();
    });

  // A search engine would stand here; a failure of it must not show.
  router.get('/:id/similar', async () => {
    throw new Error('the index at 10.0.0.7 is down');
  });
  return router;
}
