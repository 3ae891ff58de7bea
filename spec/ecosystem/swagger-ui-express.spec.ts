import type { Express } from 'express';
import swaggerUi from 'swagger-ui-express';
import { answerErrors, ExpressOracle } from '../support/express-oracle';

const DOCUMENT = { openapi: '3.0.0', info: { title: 'Notes', version: '1' }, paths: { '/notes': { get: { responses: { 200: { description: 'all' } } } } } };
let oracle: ExpressOracle;

function program(app: Express): void {
  app.use('/docs', swaggerUi.serve, swaggerUi.setup(DOCUMENT, { customSiteTitle: 'The notes', customCss: '.topbar { display: none }' }));
  app.use('/v2/docs', swaggerUi.serveFiles({ ...DOCUMENT, info: { title: 'Notes', version: '2' } }), swaggerUi.setup({ ...DOCUMENT, info: { title: 'Notes', version: '2' } }));
  app.use('/routed', swaggerUi.serve);
  app.get('/routed', swaggerUi.setup(DOCUMENT));
  app.use((_req, res) => void res.status(404).send('none'));
  app.use(answerErrors);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program, { routing: { ignoreTrailingSlash: true } });
});

afterAll(() => oracle.close());

test('redirects to the directory, where its page stands', async () => {
  expect(await oracle.ask('/docs')).toMatchObject({ status: 301, headers: { location: '/docs/' } });
  const page = await oracle.ask('/docs/');
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
  expect(page.body).toContain('<title>The notes</title>');
});

test('serves its script with the document in it, and its assets', async () => {
  expect((await oracle.ask('/docs/swagger-ui-init.js')).body).toContain('"title": "Notes"');
  expect(await oracle.ask('/docs/swagger-ui.css')).toMatchObject({ status: 200, headers: { 'content-type': 'text/css; charset=utf-8' } });
  expect((await oracle.ask('/docs/swagger-ui-bundle.js', { headers: { range: 'bytes=0-99' } })).status).toBe(206);
  // It hides the manifest of the package that its assets stand in.
  expect((await oracle.ask('/docs/package.json')).status).toBe(404);
});

test('serves several documents', async () => {
  await oracle.ask('/v2/docs/');
  expect((await oracle.ask('/v2/docs/swagger-ui-init.js')).body).toContain('"version": "2"');
});

test('stands behind a route', async () => {
  await oracle.ask('/routed/');
  expect((await oracle.ask('/routed/swagger-ui.css')).status).toBe(200);
});
