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

async function readBody(req, res) {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > LIMIT) {
      res.shouldKeepAlive = false;
      answer(res, 413, { error: 'Payload Too Large', message: 'The request body is larger than the limit' });
      return undefined;
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    answer(res, 400, { error: 'Bad Request', message: 'The request body could not be parsed' });
    return undefined;
  }
}

async function handle(req, res) {
  const { pathname, searchParams } = new URL(req.url, 'http://localhost');
  const note = /^\/notes\/([^/]+)$/.exec(pathname);
  if (pathname === '/notes' && req.method === 'GET') {
    const word = searchParams.get('word') ?? '';
    answer(res, 200, [...notes.values()].filter(({ text }) => text.includes(word)));
  } else if (pathname === '/notes' && req.method === 'POST') {
    const body = await readBody(req, res);
    if (body === undefined) return;
    if (typeof body?.text !== 'string') return answer(res, 400, { error: 'Bad Request', message: 'A note needs a text' });
    const id = String(++last);
    notes.set(id, { id, text: body.text });
    answer(res, 201, notes.get(id));
  } else if (note !== null && req.method === 'GET' && notes.has(note[1])) {
    answer(res, 200, notes.get(note[1]));
  } else if (note !== null && req.method === 'DELETE') {
    notes.delete(note[1]);
    res.writeHead(204);
    res.end();
  } else {
    answer(res, 404, { error: 'Not Found', message: `Cannot ${req.method} ${pathname}` });
  }
}

const server = createServer((req, res) => {
  handle(req, res).catch((error) => {
    console.error(error);
    if (!res.headersSent) answer(res, 500, { error: 'Internal Server Error', message: 'Internal Server Error' });
    else res.destroy();
  });
});

server.listen(Number(process.env.PORT || 3000), () => {
  console.log(`Listening on http://localhost:${server.address().port}`);
});
