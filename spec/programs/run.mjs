/**
 * Runs programs of the Express ecosystem, each on Express and on waypost: `npm run test:programs`, or with names of
 * programs those alone. What a program finds out on the one must be what it finds out on the other, but for those
 * that docs/compatibility.md says otherwise of.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { runSide } from '../support/side-process.mjs';

/** Longest that a program may take, in milliseconds. */
const LIMIT = 60_000;
/** A program that is said not to work on waypost. */
const KNOWN = /^\| `([\w-]+)` \|.*\| no: .*\|$/gm;
const HERE = fileURLToPath(new URL('.', import.meta.url));

async function main() {
  const only = process.argv.slice(2);
  const programs = readdirSync(`${HERE}programs`).map((file) => file.replace('.cjs', '')).filter((name) => only.length === 0 || only.includes(name)).sort();
  console.log('| Program | On Express | On waypost |\n|---|---|---|');
  const known = new Set([...readFileSync(`${HERE}../../docs/compatibility.md`, 'utf8').matchAll(KNOWN)].map(([, name]) => name));
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const program of programs) {
    const [theirs, ours] = await Promise.all([run(program, 'express'), run(program, 'waypost')]);
    const came = verdict(theirs, ours);
    counts[came === 'failed' && known.has(program) ? 'skipped' : came] += 1;
    console.log(`| ${program} | ${told(theirs)} | ${ours.found && theirs.found && !isDeepStrictEqual(ours.found, theirs.found) ? difference(theirs.found, ours.found) : told(ours)} |`);
    if (only.length > 0) for (const { errors } of [theirs, ours]) process.stderr.write(errors);
  }
  console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  process.exitCode = counts.failed === 0 ? 0 : 1;
}

function verdict(theirs, ours) {
  if (theirs.skipped || ours.skipped) return 'skipped';
  if (theirs.failed) return ours.failed ? 'skipped' : 'passed';
  return ours.found && isDeepStrictEqual(theirs.found, ours.found) ? 'passed' : 'failed';
}

function told({ skipped, failed }) {
  if (skipped) return `skipped: ${skipped}`;
  return failed ? `no: ${failed.replaceAll('|', '\\|').slice(0, 160)}` : 'yes';
}

/** The first thing that is not the same. */
function difference(theirs, ours) {
  for (const key of new Set([...Object.keys(theirs), ...Object.keys(ours)])) {
    if (!isDeepStrictEqual(theirs[key], ours[key])) return `otherwise: ${key} is ${JSON.stringify(ours[key])}, not ${JSON.stringify(theirs[key])}`.replaceAll('|', '\\|');
  }
  return 'otherwise';
}

function run(program, side) {
  return runSide(HERE, ['start.mjs', program, side], { env: { NODE_ENV: 'test', NEXT_TELEMETRY_DISABLED: '1' }, limit: LIMIT });
}

await main();
