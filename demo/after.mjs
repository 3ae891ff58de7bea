// The service of demo/before.mjs on waypost: limits, parsing, errors and 404 are the framework's.
import { createServer, HttpError } from 'waypost';

const notes = new Map([['1', { id: '1', text: 'Bring a coat' }]]);
let last = 1;

const app = createServer({ body: { limit: 1024 } });

app.get('/notes', (req, res) => {
  const word = req.query.word ?? '';
  res.json([...notes.values()].filter(({ text }) => text.includes(word)));
});

app.post('/notes', (req, res) => {
  if (typeof req.body?.text !== 'string') throw new HttpError(400, 'NO_TEXT', 'A note needs a text');
  const id = String(++last);
  notes.set(id, { id, text: req.body.text });
  res.status(201).json(notes.get(id));
});

app.get('/notes/:id', (req, res, next) => {
  const note = notes.get(req.params.id);
  if (note === undefined) next();
  else res.json(note);
});

app.delete('/notes/:id', (req, res) => {
  notes.delete(req.params.id);
  res.status(204).end();
});

const server = await app.start();
console.log(`Listening on http://localhost:${server.address().port}`);
