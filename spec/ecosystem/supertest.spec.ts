import cookieParser from 'cookie-parser';
import express, { type Express } from 'express';
import multer from 'multer';
import request from 'supertest';
import { createServer } from 'waypost';

function program(app: Express): Express {
  app.use(cookieParser());
  app.get('/json', (req, res) => void res.status(201).set('X-One', '1').json({ query: req.query }));
  app.get('/in', (_req, res) => void res.cookie('who', 'Ada').redirect('/me'));
  app.get('/me', (req, res) => void res.send(`you are ${String(req.cookies['who'])}`));
  app.post('/echo', express.json(), express.urlencoded(), (req, res) => void res.json(req.body));
  app.post('/upload', multer().single('file'), (req, res) => void res.json([req.body, req.file?.originalname, req.file?.size]));
  app.get('/empty', (_req, res) => void res.status(204).end());
  app.get('/stream', (_req, res) => {
    res.write('one ');
    setImmediate(() => res.end('two'));
  });
  app.use((_req, res) => void res.status(404).json({ none: true }));
  return app;
}

const APPLICATIONS: [string, () => Express][] = [
  ['Express', () => program(express())],
  ['waypost', () => program(createServer({ logging: { level: 'silent' } }) as unknown as Express)],
];

describe.each(APPLICATIONS)('with an application of %s', (_maker, make) => {
  test('request(app) asks without a server of the program', async () => {
    const app = make();
    await request(app).get('/json').query({ a: '1', b: ['2', '3'] }).expect('X-One', '1').expect('Content-Type', /json/).expect(201, { query: { a: '1', b: ['2', '3'] } });
    await request(app).head('/json').expect(201).expect('Content-Length', String('{"query":{}}'.length));
    await request(app).get('/nowhere').expect(404, { none: true });
    await request(app).get('/empty').expect(204, {});
    await request(app).get('/stream').expect(200, 'one two');
  });

  test('sends JSON, forms and files', async () => {
    const app = make();
    await request(app).post('/echo').send({ a: [1] }).expect(200, { a: [1] });
    await request(app).post('/echo').type('form').send({ a: '1' }).expect(200, { a: '1' });
    await request(app).post('/upload').field('title', 'A').attach('file', Buffer.alloc(5000), 'f.bin').expect(200, [{ title: 'A' }, 'f.bin', 5000]);
  });

  test('agent(app) keeps cookies and follows redirects', async () => {
    const agent = request.agent(make());
    await agent.get('/me').expect('you are undefined');
    await agent.get('/in').redirects(1).expect(200, 'you are Ada');
    await agent.get('/me').expect('you are Ada');
  });

  test('takes a callback', (done) => {
    request(make()).get('/json').expect(201).end(done);
  });
});

test('takes a server that is started already', async () => {
  const app = createServer({ logging: { level: 'silent' } });
  app.get('/', (_req, res) => res.xJson({ big: 2n ** 64n }));
  const server = await app.start(0, '127.0.0.1');
  await request(server).get('/').expect(200, { big: '18446744073709551616' });
  await app.close();
});
