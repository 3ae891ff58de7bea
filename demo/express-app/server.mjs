// Starts the notebook on PORT, else 3000.
import { makeApp } from './app.mjs';

const server = makeApp().listen(Number(process.env.PORT || 3000), () => {
  console.log(`Listening on http://localhost:${server.address().port}`);
});

process.on('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
