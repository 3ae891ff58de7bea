import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ENVIRONMENT } from './support/child-program';
import { curlExchanges, fences, read, ROOT } from './support/document';

/** A step of the tutorial: its files, each named in the line before its block, and its requests. */
interface Step {
  readonly title: string;
  readonly text: string;
  readonly files: readonly (readonly [name: string, code: string])[];
}

const STEPS = read('docs/tutorial.md').split('\n## ').slice(1).map((text): Step => ({
  title: text.split('\n')[0] ?? '',
  text,
  files: [...text.matchAll(/^`([\w.]+)`[^\n]*:\n\n```\w+\n([^]*?)\n```$/gm)].map(([, name = '', code = '']) => [name, code]),
}));
const RECIPE = fences(read('docs/recipes.md')).find(({ text }) => text.includes("from 'pg'"))?.text ?? '';
const SECRET = 'an example secret, 32 bytes or more';

let folder: string;

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('the programs run on the build: npm run build (npm test does so)');
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waypost-tutorial-'));
  // What `npm install` would put there.
  mkdirSync(join(folder, 'node_modules/pg'), { recursive: true });
  symlinkSync(ROOT, join(folder, 'node_modules/waypost'));
  symlinkSync(join(ROOT, 'node_modules/zod'), join(folder, 'node_modules/zod'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Adds the files of all steps up to the one with this title; later ones replace earlier ones. */
function upTo(title: string): Step {
  const last = STEPS.findIndex((step) => step.title === title);
  for (const { files } of STEPS.slice(0, last + 1)) for (const [name, code] of files) writeFileSync(join(folder, name), code);
  return STEPS[last]!;
}

const environment = (): NodeJS.ProcessEnv => ({ ...ENVIRONMENT, PORT: '0', SIGNING_SECRET: SECRET });

function run(args: readonly string[], more: NodeJS.ProcessEnv = {}): string {
  return execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: { ...environment(), ...more } });
}

/** Serves by a program of the folder while `use` runs, and ends it by SIGTERM. Returns all that it printed. */
async function serving(file: string, use: (origin: string) => Promise<void>): Promise<string> {
  const server = spawn(process.execPath, [file], { cwd: folder, env: environment(), stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  server.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = once(server, 'close');
  try {
    while (!/"address".*\n/.test(output)) await Promise.race([once(server.stdout, 'data'), ended.then(() => { throw new Error(`${file} has ended: ${output}`); })]);
    const { address } = JSON.parse(/^.*"address".*$/m.exec(output)?.[0] ?? '') as { address: { port: number } };
    await use(`http://127.0.0.1:${address.port}`);
  } finally {
    server.kill('SIGTERM');
    await ended;
  }
  return output;
}

/** Sends the curl lines of a step, and compares what comes back. */
async function ask(origin: string, { text }: Step): Promise<number> {
  const exchanges = fences(text).filter(({ language }) => language === 'console').flatMap((fence) => curlExchanges(fence.text));
  for (const { method, target, headers, body, status, answerHeaders, answerBody } of exchanges) {
    const type: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const answer = await fetch(origin + target, { method, headers: { ...type, ...Object.fromEntries(headers) }, ...(body === undefined ? {} : { body }) });
    if (status !== undefined) expect([target, answer.status]).toEqual([target, status]);
    for (const [name, value] of answerHeaders) expect([name, answer.headers.get(name)]).toEqual([name, value]);
    expect(await answer.text()).toBe(answerBody);
  }
  return exchanges.length;
}

describe('docs/tutorial.md', () => {
  test.each([['2. A first route', 2], ['3. Notes', 5]])('%s: answers as is said', async (title, count) => {
    const step = upTo(title);
    let asked = 0;
    await serving('server.mjs', async (origin) => {
      asked = await ask(origin, step);
    });
    expect(asked).toBe(count);
  });

  test.each(['4. Tests', '5. Signed writes, and a file'])('%s: the tests pass', (title) => {
    upTo(title);
    expect(run(['--test'], { NODE_TEST_CONTEXT: undefined })).toMatch(/pass 2\b[^]*fail 0\b/);
  });

  test('the client may write, nobody else, and the notes are there after a restart', async () => {
    const step = upTo('5. Signed writes, and a file');
    let asked = 0;
    await serving('server.mjs', async (origin) => {
      expect(run(['client.mjs', 'Bring a coat'], { NOTES_URL: origin })).toBe('201 {"id":1,"text":"Bring a coat"}\n');
      asked = await ask(origin, step);
    });
    expect(asked).toBe(2);
    await serving('server.mjs', async (origin) => expect(await (await fetch(`${origin}/notes/1`)).json()).toEqual({ id: 1, text: 'Bring a coat' }));
  });

  test('a server without a secret says what it needs', () => {
    upTo('5. Signed writes, and a file');
    expect(() => run(['server.mjs'], { SIGNING_SECRET: undefined })).toThrow(/secret/);
  });

  test('the container holds the programs that the page shows, and nginx finds it', () => {
    const files = new Map(upTo('7. nginx in front') && STEPS.flatMap((step) => step.files));
    const copied = [...(files.get('Dockerfile') ?? '').matchAll(/^COPY (.+) \.\/$/gm)].flatMap(([, names = '']) => names.split(' '));
    expect(copied).toEqual(['package.json', 'package-lock.json', 'waypost-0.1.0.tgz', 'app.mjs', 'server.mjs']);
    expect(copied.filter((name) => name.endsWith('.mjs') && !files.has(name))).toEqual([]);
    expect(files.get('nginx.conf')).toContain('proxy_pass http://notes:3000;');
    expect(files.get('compose.yaml')).toMatch(/^ {2}notes:$/m);
    // The volume is where the program writes.
    expect(files.get('Dockerfile')).toContain('NOTES_FILE=/data/');
    expect(files.get('compose.yaml')).toContain('data:/data');
  });
});

/** A stand-in for the package: writes down when it is asked, and when it ends. */
const POOL = `import { appendFileSync } from 'node:fs';
export default { Pool: class {
  async query(text, [id]) {
    await new Promise((done) => setImmediate(done));
    appendFileSync('calls', 'query ' + id + '\\n');
    return { rows: id === '1' ? [{ id: '1', text: 'Bring a coat' }] : [] };
  }
  async end() { appendFileSync('calls', 'end\\n'); }
} };`;

test('docs/recipes.md: the pool of the database closes after the last answer', async () => {
  writeFileSync(join(folder, 'node_modules/pg/package.json'), '{ "name": "pg", "type": "module", "exports": "./index.js" }');
  writeFileSync(join(folder, 'node_modules/pg/index.js'), POOL);
  writeFileSync(join(folder, 'app.mjs'), RECIPE);
  const output = await serving('app.mjs', async (origin) => {
    const [found, none] = [await fetch(`${origin}/notes/1`), await fetch(`${origin}/notes/2`)];
    expect([found.status, await found.json(), none.status]).toEqual([200, { id: '1', text: 'Bring a coat' }, 404]);
  });
  expect(readFileSync(join(folder, 'calls'), 'utf8')).toBe('query 1\nquery 2\nend\n');
  expect(output).toContain('The server has stopped');
});
