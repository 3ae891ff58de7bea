// Data that plain JSON cannot hold: node demo/xjson.mjs
import { createServer, XJsonResponseHandler } from 'waypost';

const app = createServer();

app.get('/plain', (req, res) => res.json({ age: 18n }));

app.get('/extended', (req, res) => res.xJson({ age: 18n, born: new Date(0), friends: [1n, 2n] }));

app.get('/circular', (req, res) => {
  const node = { name: 'root' };
  node.self = node;
  res.xJson(node);
});

app.get('/large', (req, res) => {
  res.xJson(Array.from({ length: 100_000 }, (_, id) => ({ id: BigInt(id), name: `item ${id}` })), { chunkSize: 16_384 });
});

// Options for all that stands beneath a path.
app.use('/short', XJsonResponseHandler.createMiddleware({ truncateStrings: 10 }));
app.get('/short/story', (req, res) => res.xJson({ story: 'Once upon a time there was a string' }));

const server = await app.start();
console.log(`Listening on http://localhost:${server.address().port}`);
