import timeout from 'connect-timeout';
import type { Express } from 'express';
import { answerErrors, ExpressOracle } from '../support/express-oracle';

let oracle: ExpressOracle;

function program(app: Express): void {
  app.get('/hangs', timeout(20), () => undefined);
  app.get('/in-time', timeout('10s'), (req, res) => void setImmediate(() => res.json(req.timedout)));
  app.use(answerErrors);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(() => oracle.close());

test('hands an error of 503 on when nobody answers', async () => {
  expect(await oracle.ask('/hangs')).toMatchObject({ status: 503, body: '{"failed":"Response timeout","code":"ETIMEDOUT"}' });
});

test('leaves what is answered in time alone', async () => {
  expect((await oracle.ask('/in-time')).body).toBe('false');
});
