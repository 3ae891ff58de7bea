import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/child-program';
import { type Drill, type Figures, hold, mebibytes } from './drill';
import type { Battle } from './scope-attacker';

const TARGETS = { whole: 10_000_000, short: 2_000 };

export const scope: Drill = {
  name: 'scope',
  load: 'disguised targets against the scope of the signature check, 10 million where it is run alone: applications of every kind of door, 8 scopes, 8 ways to route, 3 hosts',
  amongAll: ['100000'],
  async run(extent, [count]): Promise<Figures> {
    const targets = count === undefined ? TARGETS[extent] : Number(count);
    hold(Number.isInteger(targets) && targets > 0, `scope takes a number of targets, got ${String(count)}`);
    // Where the attackers of one run begin no other run did, unless it is told to.
    const seed = Number(process.env['SCOPE_SEED'] ?? Date.now() % 1_000_000_000);
    const attackers = extent === 'whole' ? availableParallelism() : 1;
    const battles = await Promise.all(Array.from({ length: attackers }, (_, index) => attack(Math.ceil(targets / attackers), seed + index * 1_000_000)));
    const misses = battles.flatMap((battle) => battle.misses);
    hold(misses.length === 0, `SCOPE_SEED=${seed}: ${misses.join('\n')}`);
    const sum = (what: 'sent' | 'refused' | 'guarded'): string => battles.reduce((total, battle) => total + battle[what], 0).toLocaleString('en');
    return {
      outcome: `${sum('sent')} sent unsigned, ${sum('refused')} told 401, nothing guarded reached; of a part sent to the same without a check, ${sum('guarded')} reached something guarded`,
      left: 'nothing waits', peak: mebibytes(Math.max(...battles.map(({ peak }) => peak))),
    };
  },
};

async function attack(targets: number, seed: number): Promise<Battle> {
  const child = fork(join(ROOT, 'spec/drills/scope-attacker.ts'), [String(targets), String(seed)], { cwd: ROOT, execArgv: ['--no-deprecation', '-r', './spec/support/transpiled.cjs'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [told] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [Battle | number | null];
  if (typeof told !== 'object' || told === null) throw new Error(`an attacker ended with ${String(told)}`);
  return told;
}
