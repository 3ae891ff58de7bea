import { HttpError, Router } from 'waypost';

/** The most maps the demo keeps, so that pasting lines all day fills no memory. */
const MOST = 1000;

const maps = new Map();
for (const map of [
  { id: 'fells', title: 'The Northern Fells', region: 'north', sheets: ['summits', 'valleys'] },
  { id: 'coast', title: 'The Long Coast Path', region: 'south', sheets: ['tides', 'harbours', 'cliffs'] },
  { id: 'moor', title: 'The High Moor', region: 'south', sheets: ['tracks'] },
]) maps.set(map.id, map);

export const catalogue = Router();

// Middleware of this router: it runs for the routes registered below it here, and for nobody else's.
catalogue.use((req, res, next) => {
  res.setHeader('Cache-Control', 'no-store');
  next();
});

catalogue.get('/', (req, res) => {
  const { region } = req.query;
  const found = [...maps.values()].filter((map) => region === undefined || map.region === region);
  res.json({ count: found.length, maps: found });
});

catalogue.get('/:id', findMap, (req, res) => {
  res.json(req.map);
});

catalogue.post('/', (req, res) => {
  const map = readMap(req.body, req.body?.id);
  if (maps.has(map.id)) throw new HttpError(409, 'TAKEN', `There is a map called ${map.id} already; PUT replaces it`);
  keep(map);
  res.status(201).location(`${req.baseUrl}/${map.id}`).json(map);
});

catalogue.put('/:id', (req, res) => {
  const map = readMap(req.body, req.params.id);
  res.status(maps.has(map.id) ? 200 : 201);
  keep(map);
  res.json(map);
});

catalogue.patch('/:id', findMap, (req, res) => {
  const map = readMap({ ...req.map, ...req.body }, req.params.id);
  keep(map);
  res.json(map);
});

catalogue.delete('/:id', (req, res) => {
  maps.delete(req.params.id);
  res.status(204).end();
});

// Two parameters, each in a segment of its own.
catalogue.get('/:id/sheets/:number', findMap, (req, res) => {
  const sheet = req.map.sheets[Number(req.params.number) - 1];
  if (sheet === undefined) throw new HttpError(404, 'NO_SHEET', `The map ${req.map.id} has no sheet ${req.params.number}`);
  res.json({ map: req.map.id, sheet });
});

/** The first of two handlers of a route: it hands on what it found. */
function findMap(req, res, next) {
  const map = maps.get(req.params.id);
  if (map === undefined) throw new HttpError(404, 'NO_MAP', `There is no map called ${req.params.id}`);
  req.map = map;
  next();
}

function readMap(body, id) {
  const { title, region, sheets = [] } = body ?? {};
  const complete = Array.isArray(sheets) && [id, title, region, ...sheets].every((text) => typeof text === 'string' && text !== '');
  if (!complete) throw new HttpError(400, 'INCOMPLETE', 'A map needs an id, a title and a region, each a text, as its sheets are');
  return { id, title, region, sheets };
}

function keep(map) {
  if (!maps.has(map.id) && maps.size >= MOST) throw new HttpError(507, 'FULL', `The demo keeps ${MOST} maps at most`);
  maps.set(map.id, map);
}

const NEW_MAP = '{"id":"lakes","title":"The Lakes","region":"north"}';

export const examples = {
  'GET /catalogue': {
    about: 'All maps, or those of one region: a query parameter.',
    lines: [
      { status: 200, text: "curl -i '{origin}/catalogue'" },
      { status: 200, text: "curl -i '{origin}/catalogue?region=south'" },
      { status: 200, text: "curl -I '{origin}/catalogue'", about: 'A GET route answers HEAD too.' },
    ],
  },
  'GET /catalogue/:id': {
    about: 'One map: a named parameter, and two handlers in a row.',
    lines: [
      { status: 200, text: "curl -i '{origin}/catalogue/fells'" },
      { status: 404, text: "curl -i '{origin}/catalogue/atlantis'", about: 'The first handler finds no such map.' },
    ],
  },
  'POST /catalogue': {
    about: 'Adds a map from a JSON body. The body limit of this program is 64 KiB.',
    lines: [
      { status: 201, text: `curl -i -X POST -H 'Content-Type: application/json' -d '${NEW_MAP}' '{origin}/catalogue'`, about: 'A second run gets 409, until you run the DELETE below.' },
      { status: 400, text: `curl -i -H 'Content-Type: application/json' -d '{"id":' '{origin}/catalogue'`, about: 'Malformed JSON.' },
      { status: 400, text: `curl -i -H 'Content-Type: application/json' -d '{"id":"lakes"}' '{origin}/catalogue'`, about: 'Well-formed, but no map: refused by the handler.' },
      { status: 413, text: `node -e 'process.stdout.write("x".repeat(70000))' | curl -i -H 'Content-Type: text/plain' --data-binary @- '{origin}/catalogue'`, about: 'Larger than the limit: the handler does not run, and the connection closes.' },
    ],
  },
  'PUT /catalogue/:id': {
    about: 'Adds or replaces a map.',
    lines: [{ status: 201, text: `curl -i -X PUT -H 'Content-Type: application/json' -d '{"title":"The Marshes","region":"east"}' '{origin}/catalogue/marsh'`, about: 'A second run gets 200.' }],
  },
  'PATCH /catalogue/:id': {
    about: 'Changes a map. A form is parsed as well as JSON.',
    lines: [{ status: 200, text: "curl -i -X PATCH -d 'title=The+Higher+Moor' '{origin}/catalogue/moor'" }],
  },
  'DELETE /catalogue/:id': {
    about: 'Removes a map. Removing it again succeeds too.',
    lines: [
      { status: 204, text: "curl -i -X DELETE '{origin}/catalogue/lakes'" },
      { status: 204, text: "curl -i -X DELETE '{origin}/catalogue/marsh'" },
    ],
  },
  'GET /catalogue/:id/sheets/:number': {
    about: 'Several parameters in one pattern.',
    lines: [{ status: 200, text: "curl -i '{origin}/catalogue/coast/sheets/2'" }],
  },
};
