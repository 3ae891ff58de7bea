import type { Express } from 'express';
import pinoHttp from 'pino-http';
import { answerErrors, ExpressOracle, type Side } from '../support/express-oracle';

interface Line {
  level: number;
  msg: string;
  req: { id: number; method: string; url: string; query: object; params: object; remoteAddress: string; headers: Record<string, string> };
  res?: { statusCode: number; headers: Record<string, string> };
  err?: { message: string };
  responseTime?: number;
}

let oracle: ExpressOracle;

function program(app: Express, side: Side): void {
  app.use(pinoHttp({ customLogLevel: (_req, res, error) => (error !== undefined || res.statusCode >= 500 ? 'error' : res.statusCode >= 400 ? 'warn' : 'info') }, {
    write: (text: string) => side.note(comparable(JSON.parse(text) as Line)),
  }));
  app.get('/note/:id', (req, res) => {
    req.log.info('in the handler');
    res.json({ id: req.id });
  });
  app.get('/broken', () => {
    throw new Error('broken');
  });
  app.use((error: Error, _req: unknown, res: { err?: Error }, next: (error: Error) => void) => {
    res.err = error;
    next(error);
  });
  app.use((_req, res) => void res.status(404).send('none'));
  app.use(answerErrors);
}

/** A line without what differs from run to run. */
function comparable({ level, msg, req, res, err, responseTime }: Line) {
  return {
    level, msg, id: req.id, method: req.method, url: req.url, query: req.query, params: req.params, from: req.remoteAddress, agent: req.headers['user-agent'],
    timed: typeof responseTime, status: res?.statusCode, length: res?.headers['content-length'], error: err?.message,
  };
}

// Without ETags the head of most answers goes out by a shorter way, and what was sent is asked for afterwards.
describe.each([['with ETags', 'weak'], ['without', false]] as const)('%s it', (_with, etag) => {
  beforeEach(async () => {
    oracle = await ExpressOracle.start(program, { etag });
  });

  afterEach(() => oracle.close());

  test('logs requests with id, query, address, status and time, and gives handlers a logger', async () => {
    await oracle.ask('/note/7?a=1', { headers: { 'user-agent': 'spec' } });
    const about = { id: 1, method: 'GET', url: '/note/7?a=1', query: { a: '1' }, from: '127.0.0.1', agent: 'spec' };
    expect(await oracle.notes(2)).toEqual([
      expect.objectContaining({ ...about, msg: 'in the handler', timed: 'undefined' }),
      expect.objectContaining({ ...about, msg: 'request completed', timed: 'number', level: 30, status: 200, length: '8' }),
    ]);
  });

  test('logs errors and what was not found by their levels', async () => {
    await oracle.ask('/broken');
    await oracle.notes(1);
    await oracle.ask('/nowhere');
    expect(await oracle.notes(2)).toMatchObject([
      { level: 50, status: 500, msg: 'request errored', error: 'broken' },
      { level: 40, status: 404, msg: 'request completed' },
    ]);
  });
});
