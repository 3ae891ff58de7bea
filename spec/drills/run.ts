import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { ROOT } from '../support/child-program';
import { DRILLS } from './drills';

/* `npm run drills` runs all and prints their table, `npm run drills -- NAME` one of them; `npm run drills -- scope COUNT` says of that one how many targets it sends. */

async function main(): Promise<void> {
  const [name, ...given] = process.argv.slice(2);
  const chosen = name === undefined ? DRILLS : DRILLS.filter((drill) => drill.name === name);
  if (chosen.length === 0) throw new Error(`there is no drill ${String(name)}; there are ${DRILLS.map((drill) => drill.name).join(', ')}`);
  const rows: string[] = [];
  for (const drill of chosen) {
    process.stderr.write(`${drill.name}: ${drill.load}\n`);
    const began = process.hrtime.bigint();
    try {
      const { outcome = '', left = '', peak = '' } = await drill.run('whole', name === undefined ? drill.amongAll ?? [] : given);
      const seconds = Math.round(Number(process.hrtime.bigint() - began) / 1e9);
      rows.push(`| \`${drill.name}\` | ${drill.load} | ${outcome} | ${left} | ${peak} | ${seconds} s |`);
      process.stderr.write(`  ${outcome}; left: ${left}; ${peak}; ${seconds} s\n`);
    } catch (error) {
      process.exitCode = 1;
      rows.push(`| \`${drill.name}\` | ${drill.load} | FAILED: ${(error as Error).message} | | | |`);
      process.stderr.write(`  FAILED: ${(error as Error).message}\n`);
    }
  }
  process.stdout.write(`${machine()}\n\n| Drill | Load | What came of it | Left behind | Most memory | Time |\n|---|---|---|---|---|---|\n${rows.join('\n')}\n`);
}

function machine(): string {
  const commit = execFileSync('git', ['describe', '--always', '--dirty=+'], { cwd: ROOT, encoding: 'utf8' }).trim();
  return `${new Date().toISOString().slice(0, 10)}, ${commit}, Node ${process.versions.node}, ${availableParallelism()} cores of ${cpus()[0]?.model.trim() ?? 'an unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB:`;
}

void main();
