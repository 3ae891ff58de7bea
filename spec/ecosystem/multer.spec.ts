import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Express } from 'express';
import multer from 'multer';
import { answerErrors, ExpressOracle } from '../support/express-oracle';
import { MULTIPART, multipart, type Part } from '../support/multipart';

const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
const PICTURE = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i % 251));
let oracle: ExpressOracle;

function program(app: Express): void {
  const memory = multer({ limits: { fileSize: 300_000, files: 2, fieldSize: 100 }, fileFilter: (_req, file, done) => done(null, file.mimetype !== 'text/x-evil') });
  const disk = multer({ dest: folder });
  const describe = ({ fieldname, originalname, mimetype, size, buffer }: Express.Multer.File) => ({ fieldname, originalname, mimetype, size, sum: buffer?.reduce((sum, byte) => (sum * 31 + byte) | 0, 0) });
  app.post('/one', memory.single('picture'), (req, res) => void res.json({ fields: req.body, file: req.file === undefined ? null : describe(req.file) }));
  app.post('/many', memory.array('pictures', 2), (req, res) => void res.json({ fields: req.body, files: (req.files as Express.Multer.File[]).map(describe) }));
  app.post('/fields', memory.none(), (req, res) => void res.json({ ...req.body }));
  app.post('/disk', disk.single('picture'), (req, res) => {
    const { path, size } = req.file as Express.Multer.File;
    res.json({ size, same: readFileSync(path).equals(PICTURE) });
  });
  // As middleware for all that follows, routes or none.
  app.use('/all', memory.any());
  app.post('/all/here', (req, res) => void res.json([req.body, (req.files as Express.Multer.File[]).length]));
  app.use('/all', (req, res) => void res.status(404).json([req.body, (req.files as Express.Multer.File[]).length]));
  app.use(answerErrors);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program, { body: { limit: 1000 } });
});

afterAll(async () => {
  await oracle.close();
  rmSync(folder, { recursive: true });
});

async function upload(path: string, parts: readonly Part[]) {
  const { status, body } = await oracle.post(path, multipart(parts), MULTIPART);
  return [status, JSON.parse(body)] as const;
}

const FILE: Part = ['picture', PICTURE, 'a b.png', 'image/png'];

test('takes fields and a file that is far over the limit of parsed bodies', async () => {
  expect(await upload('/one', [['title', 'Größe'], ['tags', 'a'], ['tags', 'b'], ['user[name]', 'Ada'], FILE])).toEqual([200, {
    fields: { title: 'Größe', tags: ['a', 'b'], user: { name: 'Ada' } },
    file: { fieldname: 'picture', originalname: 'a b.png', mimetype: 'image/png', size: PICTURE.length, sum: expect.any(Number) },
  }]);
});

test('takes several files, and filters', async () => {
  const [status, { files }] = await upload('/many', [['pictures', 'one', '1.txt', 'text/plain'], ['pictures', 'two', '2.txt', 'text/plain']]);
  expect([status, files.map((file: { size: number }) => file.size)]).toEqual([200, [3, 3]]);
  expect(await upload('/one', [['picture', 'x', 'x.sh', 'text/x-evil']])).toEqual([200, { fields: {}, file: null }]);
});

test('writes to disk', async () => {
  expect(await upload('/disk', [FILE])).toEqual([200, { size: PICTURE.length, same: true }]);
  expect(readdirSync(folder)).toHaveLength(oracle.size);
});

test.each<[string, string, readonly Part[], string]>([
  ['a file that is too large', '/one', [['picture', Buffer.alloc(300_001), 'x.bin']], 'LIMIT_FILE_SIZE'],
  ['a field that is too long', '/fields', [['a', 'x'.repeat(101)]], 'LIMIT_FIELD_VALUE'],
  ['a file where none is taken', '/fields', [FILE], 'LIMIT_UNEXPECTED_FILE'],
  ['too many files', '/many', [1, 2, 3].map((i) => ['pictures', 'x', `${i}.txt`] as const), 'LIMIT_FILE_COUNT'],
])('refuses %s', async (_what, path, parts, code) => {
  expect(await upload(path, parts)).toEqual([500, { failed: expect.any(String), code }]);
});

test('reports a form that breaks off', async () => {
  const broken = multipart([FILE]).subarray(0, 1000);
  expect(await oracle.post('/one', broken, MULTIPART)).toMatchObject({ status: 500, body: '{"failed":"Unexpected end of form"}' });
});

test('works as middleware, with a route below it and without', async () => {
  expect(await upload('/all/here', [['a', '1'], ['f', 'x', 'x.txt']])).toEqual([200, [{ a: '1' }, 1]]);
  expect(await upload('/all/none', [['a', '1'], ['f', 'x', 'x.txt']])).toEqual([404, [{ a: '1' }, 1]]);
});

test('leaves other types alone', async () => {
  expect(await oracle.ask('/one', { method: 'POST' })).toMatchObject({ status: 200, body: '{"file":null}' });
});
