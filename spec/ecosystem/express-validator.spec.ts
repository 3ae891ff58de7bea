import bodyParser from 'body-parser';
import cookieParser from 'cookie-parser';
import type { Express } from 'express';
import { body, checkSchema, cookie, header, matchedData, oneOf, param, query, validationResult } from 'express-validator';
import { createServer } from 'waypost';
import { answerErrors, ExpressOracle, type Side } from '../support/express-oracle';
import { Running } from '../support/running';
import { post } from '../support/wire';

let oracle: ExpressOracle;

function program(app: Express, side: Pick<Side, 'note'>): void {
  app.use(cookieParser(), bodyParser.json(), bodyParser.urlencoded({ extended: true }));
  app.post('/people/:id',
    param('id').isInt().toInt(),
    query('page').default(1).isInt({ min: 1 }).toInt(),
    body('name').trim().notEmpty().escape(),
    body('tags.*').isLength({ max: 3 }).toUpperCase(),
    body('password').isLength({ min: 8 }).withMessage('too short'),
    body('again').custom((value, { req }) => value === req.body.password).withMessage('not the same'),
    header('x-plan').optional().isIn(['free', 'paid']),
    cookie('visit').optional().isUUID(),
    (req, res) => {
      const errors = validationResult(req);
      if (!errors.isEmpty()) return void res.status(422).json(errors.array());
      res.json({ data: matchedData(req), params: req.params, body: req.body });
      side.note(req.query);
    });
  app.get('/search', checkSchema({ q: { in: ['query'], isString: true, trim: true, notEmpty: { errorMessage: 'say what' } } }), oneOf([query('from').isISO8601(), query('days').isInt()]), ((req, res) => {
    res.json({ errors: validationResult(req).mapped(), data: matchedData(req) });
  }) as import('express').RequestHandler);
  app.post('/imperative', async (req, res) => {
    const result = await body('mail').isEmail().normalizeEmail().run(req);
    res.json([result.isEmpty(), req.body]);
  });
  app.use(answerErrors);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(() => oracle.close());

const GOOD = { name: '  <Ada> ', tags: ['a', 'bc'], password: 'difference', again: 'difference' };

test('cleans parameters, query and body in place', async () => {
  const { status, body: answer } = await oracle.post('/people/7?page=2', JSON.stringify(GOOD), 'application/json', { 'x-plan': 'paid' });
  expect(status).toBe(200);
  expect(JSON.parse(answer)).toMatchObject({ params: { id: 7 }, body: { name: '&lt;Ada&gt;', tags: ['A', 'BC'] }, data: { id: 7, page: 2, name: '&lt;Ada&gt;', 'x-plan': 'paid' } });
});

test('lists what is wrong, wherever it is', async () => {
  const { status, body: answer } = await oracle.post('/people/x?page=0', JSON.stringify({ name: ' ', tags: ['long'], password: 'short', again: 'other' }), 'application/json', { 'x-plan': 'gold', cookie: 'visit=1' });
  expect(status).toBe(422);
  expect(JSON.parse(answer).map((error: { location: string; path: string; msg: string }) => [error.location, error.path, error.msg])).toEqual([
    ['params', 'id', 'Invalid value'], ['query', 'page', 'Invalid value'], ['body', 'name', 'Invalid value'], ['body', 'tags[0]', 'Invalid value'],
    ['body', 'password', 'too short'], ['body', 'again', 'not the same'], ['headers', 'x-plan', 'Invalid value'], ['cookies', 'visit', 'Invalid value'],
  ]);
});

test('takes schemas and alternatives', async () => {
  expect(JSON.parse((await oracle.ask('/search?q=%20notes%20&days=3')).body)).toEqual({ errors: {}, data: { q: 'notes', days: '3' } });
  expect(JSON.parse((await oracle.ask('/search?q=&days=x')).body)).toMatchObject({ errors: { q: { msg: 'say what' } } });
});

test('can be run by a handler', async () => {
  expect((await oracle.post('/imperative', '{"mail":"Ada.L+x@GMAIL.com"}')).body).toBe('[true,{"mail":"adal@gmail.com"}]');
});

test('does with forms what it does with JSON', async () => {
  expect((await oracle.post('/people/7', 'name=A&tags[]=a&password=difference&again=difference', 'application/x-www-form-urlencoded')).status).toBe(200);
});

test('cleans req.query too, which in Express 5 stays as it was sent', async () => {
  const running = new Running();
  const seen: unknown[] = [];
  const app = createServer({ logging: { level: 'silent' } });
  program(app as unknown as Express, { note: (value) => void seen.push(value) });
  await post(await running.start(app), '/people/7?page=2', JSON.stringify(GOOD));
  await running.close();
  expect(seen).toEqual([{ page: 2 }]);
});
