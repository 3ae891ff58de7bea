/**
 * Runs the suite of Express 5, of its router, or of serve-static, with waypost in its place: `npm run test:express -- CHECKOUT`.
 * The checkout's own dependencies must be installed in it; nothing in it is changed. Further arguments are names
 * of its test files, to run no others; `--own` runs it on what it was written for, and `--http2` over HTTP/2.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { bare, read, table } from '../support/document';

/** Longest that the tests of one file may take, in milliseconds. */
const LIMIT = 180_000;

/**
 * The suites that are known, by the name of their package: what else mocha is told. The counts in
 * docs/compatibility.md are of a371447 of expressjs/express, cb2a5fc of pillarjs/router and 74be78a of expressjs/serve-static.
 */
const SUITES: Readonly<Record<string, { readonly folders: readonly string[]; readonly requires: readonly string[] }>> = {
  express: { folders: ['test', 'test/acceptance'], requires: ['test/support/env'] },
  router: { folders: ['test'], requires: [] },
  'serve-static': { folders: ['test'], requires: [] },
};

/** A test that did not pass. */
interface Failure {
  readonly title: string;
  readonly message: string;
}

/** What came of one file. */
interface Outcome {
  readonly file: string;
  readonly passed: number;
  readonly pending: number;
  readonly failures: readonly Failure[];
}

interface ReportLine {
  readonly event: string;
  readonly total?: number;
  readonly title?: string;
  readonly message?: string;
}

async function main(): Promise<void> {
  const given = process.argv.slice(2);
  const [own, http2] = [given.includes('--own'), given.includes('--http2')];
  const [checkout, ...only] = given.filter((argument) => !argument.startsWith('--'));
  if (checkout === undefined) throw new Error('Name the checkout: npm run test:express -- ../express');
  const root = resolve(checkout);
  const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { name: string; version: string };
  const suite = SUITES[name];
  if (suite === undefined) throw new Error(`${root} is a checkout of ${name}: give one of ${Object.keys(SUITES).join(' or ')}`);
  const files = suite.folders.flatMap((folder) => readdirSync(join(root, folder)).filter((file) => file.endsWith('.js')).sort().map((file) => `${folder}/${file}`));
  const chosen = only.length === 0 ? files : files.filter((file) => only.some((part) => file.includes(part)));
  const outcomes = await runAll(root, name, suite.requires, chosen, { SUITE_OWN: own ? '1' : '', SUITE_HTTP2: http2 ? '1' : '' });
  report(outcomes, `${name} ${version}`);
  // Of what a suite skips it says that this Node can't do it.
  const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed + outcome.pending, 0);
  const floor = only.length === 0 && !own ? floorOf(name, http2 ? 'suites-http2' : 'suites') : 0;
  if (passed < floor) {
    console.log(`docs/compatibility.md says that ${floor} pass`);
    process.exitCode = 1;
  }
}

/** As many files at once as there are cores, in the order of their names. */
async function runAll(root: string, name: string, requires: readonly string[], files: readonly string[], environment: NodeJS.ProcessEnv): Promise<Outcome[]> {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-suite-'));
  const outcomes: Outcome[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < files.length; index = next++) {
      outcomes[index] = await runFile(root, name, requires, files[index] as string, join(folder, `${index}.jsonl`), environment);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  rmSync(folder, { recursive: true });
  return outcomes;
}

async function runFile(root: string, name: string, requires: readonly string[], file: string, reportFile: string, environment: NodeJS.ProcessEnv): Promise<Outcome> {
  const required = requires.flatMap((each) => ['--require', each]);
  const mocha = join(root, 'node_modules/mocha/bin/_mocha');
  const child = spawn(process.execPath, ['-r', join(__dirname, 'in-place.cjs'), mocha, ...required, '--check-leaks', '--exit', '--reporter', join(__dirname, 'reporter.cjs'), file], {
    cwd: root,
    env: { ...process.env, ...environment, SUITE_CHECKOUT: root, SUITE_PACKAGE: name, SUITE_REPORT: reportFile },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT);
  await new Promise((done) => child.once('close', done));
  clearTimeout(timer);
  return readReport(file, reportFile, output);
}

function readReport(file: string, reportFile: string, output: string): Outcome {
  let lines: ReportLine[];
  try {
    lines = readFileSync(reportFile, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as ReportLine);
  } catch {
    return { file, passed: 0, pending: 0, failures: [{ title: '(the whole file)', message: firstError(output) }] };
  }
  const of = (event: string): ReportLine[] => lines.filter((line) => line.event === event);
  const failures = of('fail').map(({ title = '', message = '' }) => ({ title, message }));
  const [passed, pending] = [of('pass').length, of('pending').length];
  const missing = (of('start')[0]?.total ?? 0) - passed - pending - failures.length;
  // A hook that fails takes the tests with it that it stands before.
  const reason = of('end').length === 0 ? `the process ended at "${of('test').at(-1)?.title}": ${firstError(output)}` : 'not run: a hook failed';
  for (let i = 0; i < missing; i++) failures.push({ title: `(${i + 1} of ${missing} that did not run)`, message: reason });
  return { file, passed, pending, failures };
}

function firstError(output: string): string {
  return output.split('\n').find((line) => /\w*Error\b/.test(line)) ?? (output.trim().split('\n').at(-1) as string);
}

function report(outcomes: readonly Outcome[], title: string): void {
  console.log(`${title}\n\n| File | Passed | Failed |\n|---|---|---|`);
  for (const { file, passed, failures } of outcomes) console.log(`| ${file} | ${passed} | ${failures.length} |`);
  console.log('');
  for (const { file, failures } of outcomes) {
    for (const { title: test, message } of failures) console.log(`${relative('test', file)}: ${test}\n    ${message.replaceAll('\n', '\n    ')}`);
  }
  const count = (part: (outcome: Outcome) => number): number => outcomes.reduce((sum, outcome) => sum + part(outcome), 0);
  console.log(`\n${count(({ passed }) => passed)} passed, ${count(({ failures }) => failures.length)} failed, ${count(({ pending }) => pending)} skipped`);
}

/** How many pass by docs/compatibility.md. */
function floorOf(name: string, heading: string): number {
  const row = table(read('docs/compatibility.md'), heading).find(([suite]) => bare(suite) === name);
  if (row === undefined) throw new Error(`docs/compatibility.md has no row for the suite of ${name}`);
  return Number(row[3]?.replace(/\D/g, ''));
}

void main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
