// Routers, middleware and their order: node demo/routers.mjs
import { createServer, Router } from 'waypost';

const app = createServer();

// Each note says who saw the request; the routes answer with the whole list.
function note(name) {
  return (req, res, next) => {
    (req.notes ??= []).push(name);
    next();
  };
}

const rooms = Router();
rooms.use(note('rooms'));
rooms.get('/', (req, res) => res.json({ rooms: ['hut', 'loft'], notes: req.notes }));
rooms.get('/:room', note('one room'), (req, res) => res.json({ room: req.params.room, site: req.params.site, notes: req.notes }));

const keys = Router();
keys.use((req, res, next) => {
  if (req.headers['x-key'] === 'open') return next();
  res.status(401).json({ error: 'No key' });
});
keys.get('/', (req, res) => res.json({ keys: 2, notes: req.notes }));

app.use(note('everyone'));
app.use('/rooms', rooms);
// The same router again, beneath a parameter, which its routes see too.
app.use('/sites/:site/rooms', rooms);
app.use('/keys', keys);

const server = await app.start();
console.log(`Listening on http://localhost:${server.address().port}`);
