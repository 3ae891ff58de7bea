import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildProgram, ROOT } from '../support/child-program';
import { type Example, examples, type Exchange, read } from '../support/document';
import { ExpressOracle } from '../support/express-oracle';

const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
const programs: ChildProgram[] = [];

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('the programs run on the build: npm run build (npm test does so)');
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/waypost'));
  symlinkSync(join(ROOT, 'node_modules/express'), join(folder, 'node_modules/express'));
});

afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.stop()));
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Programs that do the same, in their order, and what is said below the last of them. */
interface Group {
  readonly name: string;
  readonly examples: Example[];
  readonly exchanges: readonly Exchange[];
}

/** The programs of a document; each group ends with the one below which exchanges stand. */
function groups(file: string): Group[] {
  const found: Group[] = [];
  let open: Example[] = [];
  for (const example of examples(read(file))) {
    open.push(example);
    if (example.exchanges.length === 0) continue;
    found.push({ name: `${file}, ${open.map(({ name }) => name).join(', ')}`, examples: open, exchanges: example.exchanges });
    open = [];
  }
  if (open.length > 0) throw new Error(`${file}: nothing is said below the program at ${open[0]?.name ?? ''}`);
  return found;
}

async function start({ code, name }: Example): Promise<ChildProgram> {
  const path = join(folder, `${name.replaceAll(' ', '-')}.mjs`);
  writeFileSync(path, code);
  const program = await ChildProgram.serve(path);
  programs.push(program);
  return program;
}

function question({ method, headers, body }: Exchange) {
  const given: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  for (const [name, value] of headers) given[name] = value;
  return { method, headers: given, ...(body === undefined ? {} : { body }) };
}

const GUIDES = ['docs/from-node-http.md', 'docs/from-express.md'];
const GROUPS = GUIDES.flatMap(groups);

test('each guide has a program before and after', () => {
  expect(GROUPS.map((group) => group.examples.length)).toEqual([3, 2, 1]);
  const [, [before, after] = []] = GROUPS.map((group) => group.examples.map(({ code }) => code.split('\n')));
  expect(before?.map((line, i) => (line === after?.[i] ? null : [line, after?.[i]])).filter((line) => line !== null)).toEqual([
    ["import express, { Router } from 'express';", "import { express, Router } from 'waypost';"],
  ]);
});

test.each(GROUPS)('$name: answer alike, and as is said', async ({ examples: parts, exchanges }) => {
  const ports: Record<string, number> = {};
  for (const part of parts) ports[part.name] = (await start(part)).port;
  const oracle = ExpressOracle.of(ports);
  expect(exchanges.length).toBeGreaterThan(0);
  for (const exchange of exchanges) {
    const answer = await oracle.ask(exchange.target, question(exchange));
    expect(`${exchange.text}: ${answer.status}`).toBe(`${exchange.text}: ${exchange.status}`);
    if (exchange.answerBody !== undefined) expect(answer.body).toBe(exchange.answerBody);
    for (const [name, value] of exchange.answerHeaders) expect([name, answer.headers[name.toLowerCase()]]).toEqual([name, value]);
  }
});
