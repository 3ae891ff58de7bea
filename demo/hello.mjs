// The smallest server: node demo/hello.mjs
import { createServer } from 'waypost';

const app = createServer();

app.get('/hello/:name', (req, res) => {
  res.json({ hello: req.params.name });
});

const server = await app.start();
console.log(`Listening on http://localhost:${server.address().port}`);
