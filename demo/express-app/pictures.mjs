// Pictures of a note: uploads, kept in memory.
import { createHash } from 'node:crypto';
import { Router } from 'waypost';
import multer from 'multer';
import { requireUser } from './accounts.mjs';
import { failure } from './errors.mjs';
import { findNote } from './notes.mjs';

const TYPES = ['image/png', 'image/jpeg'];

const upload = multer({
  limits: { fileSize: 100_000, files: 3 },
  fileFilter: (req, { mimetype }, done) => (TYPES.includes(mimetype) ? done(null, true) : done(failure(415, `No pictures of type ${mimetype}`))),
});

export function pictureRoutes(store) {
  const router = Router({ mergeParams: true });
  router.use(requireUser);
  const find = findNote(store);
  router.use((req, res, next) => find(req, res, next, req.params.noteId));

  router.get('/', (req, res) => res.json(req.note.pictures.map(({ name, size }) => ({ name, size }))));

  router.post('/', upload.array('picture', 3), (req, res) => {
    if (req.files.length === 0) throw failure(400, 'There is no picture in it');
    const added = req.files.map(({ originalname, mimetype, size, buffer }) => ({
      name: `${createHash('sha256').update(buffer).digest('hex').slice(0, 12)}${originalname.slice(originalname.lastIndexOf('.'))}`,
      type: mimetype, size, buffer, title: req.body.title ?? originalname,
    }));
    req.note.pictures.push(...added);
    res.status(201).json(added.map(({ name, title, size }) => ({ name, title, size })));
  });

  router.get('/:name', (req, res, next) => {
    const picture = req.note.pictures.find(({ name }) => name === req.params.name);
    if (picture === undefined) {
      next();
      return;
    }
    if (req.query.save !== undefined) res.attachment(picture.title);
    res.type(picture.type).send(picture.buffer);
  });
  return router;
}
