// The whole demo: `npm start`, then open the address it prints.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createServer, static as staticFiles } from 'waypost';
import { catalogue, examples as catalogueExamples } from './catalogue.mjs';
import { errors, examples as errorExamples } from './errors.mjs';
import { files, examples as fileExamples } from './files.mjs';
import { numbers, examples as numberExamples } from './numbers.mjs';
import { contentSecurityPolicy, originOf, startPage } from './page.mjs';
import { publicSecret } from './secret.mjs';
import { examples as signedExamples, security, signed, withSigned } from './signed.mjs';
import { examples as tideExamples, tides, withSchemas } from './tides.mjs';
import { trails, examples as trailExamples } from './trails.mjs';
import { visits, examples as visitExamples } from './visits.mjs';

const examples = {
  'GET /': { about: 'This page.', lines: [{ status: 200, text: "curl -i '{origin}/'" }] },
  ...catalogueExamples,
  ...trailExamples,
  ...numberExamples,
  ...signedExamples,
  ...fileExamples,
  ...errorExamples,
  ...tideExamples,
  ...visitExamples,
};

const app = createServer({
  logging: { level: 'warn' },
  body: { limit: '64kb', bigint: true },
  server: { handleSignals: true },
  security,
});

// Global middleware: registered first, it runs first.
app.use((req, res, next) => {
  res.setHeader('X-Request-Id', randomUUID());
  next();
});

app.get('/', async (req, res) => {
  res.setHeader('Content-Security-Policy', contentSecurityPolicy);
  res.send(startPage({ routes: withSchemas(await withSigned(app.routes())), examples, origin: originOf(req), secret: publicSecret }));
});

app.use('/console', staticFiles(fileURLToPath(new URL('console', import.meta.url))));

app.use('/catalogue', catalogue);
app.use('/trails', trails);
app.use('/numbers', numbers);
app.use('/signed', signed);
app.use('/files', files);
app.use('/errors', errors);
app.use('/tides', tides);
app.use('/visits', visits);

try {
  const server = await app.start();
  console.log(`Listening on http://localhost:${server.address().port}`);
} catch (error) {
  if (error.code !== 'EADDRINUSE') throw error;
  console.error(`Port ${error.port} is taken; choose another with PORT, or 0 for any that is free: PORT=0 npm start`);
  process.exitCode = 1;
}
