// A small service on plain node:http. demo/after.mjs is the same one on waypost.
import { createServer } from 'node:http';

const LIMIT = 1024;
const notes = new Map([['1', { id: '1', text: 'Bring a coat' }]]);
let last = 1;

function answer(res, status, data) {
  const body = JSON.stringify(data);
  res.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(body) });
  res.end(body);
}

function readJson(req, res, done) {
  const chunks = [];
  let size = 0;
  req.on('data', (chunk) => {
    size += chunk.length;
    if (size <= LIMIT) {
      chunks.push(chunk);
    } else if (!res.headersSent) {
      res.shouldKeepAlive = false;
      answer(res, 413, { error: 'Payload Too Large', message: 'The request body is larger than the limit' });
    }
  });
  req.on('end', () => {
    if (res.headersSent) return;
    let body;
    try {
      body = JSON.parse(Buffer.concat(chunks).toString());
    } catch {
      answer(res, 400, { error: 'Bad Request', message: 'The request body is not valid JSON' });
      return;
    }
    done(body);
  });
}

function listNotes(res, word) {
  answer(res, 200, [...notes.values()].filter(({ text }) => text.includes(word)));
}

function addNote(res, body) {
  if (typeof body?.text !== 'string') {
    answer(res, 400, { error: 'Bad Request', message: 'A note needs a text' });
    return;
  }
  const id = String(++last);
  notes.set(id, { id, text: body.text });
  answer(res, 201, notes.get(id));
}

function deleteNote(res, id) {
  notes.delete(id);
  res.writeHead(204);
  res.end();
}

const server = createServer((req, res) => {
  const { pathname, searchParams } = new URL(req.url, 'http://localhost');
  const method = req.method === 'HEAD' ? 'GET' : req.method;
  const [, id] = /^\/notes\/([^/]+)$/.exec(pathname) ?? [];
  if (pathname === '/notes' && method === 'GET') listNotes(res, searchParams.get('word') ?? '');
  else if (pathname === '/notes' && method === 'POST') readJson(req, res, (body) => addNote(res, body));
  else if (method === 'GET' && notes.has(id)) answer(res, 200, notes.get(id));
  else if (method === 'DELETE' && id !== undefined) deleteNote(res, id);
  else answer(res, 404, { error: 'Not Found', message: `Cannot ${req.method} ${pathname}` });
});

server.listen(Number(process.env.PORT || 3000), () => {
  console.log(`Listening on http://localhost:${server.address().port}`);
});
