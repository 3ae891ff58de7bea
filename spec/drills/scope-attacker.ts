import { SCOPES, STARTS } from '../support/guarded-scope';
import { GuardedFolder, GuardedWorld, type Host, type WorldSettings } from '../support/guarded-world';
import { HostileTargets } from '../support/hostile-target';
import { attack, type Outcome } from '../support/scope-attack';

/* Attacks applications one after another, with so many targets in all, and tells its parent what came of it. */

/** What an attack came to. */
export interface Battle {
  /** Requests that Node's parser took. */
  sent: number;
  refused: number;
  /** Requests of a sample that reach something guarded where nothing is checked. */
  guarded: number;
  peak: number;
  readonly misses: string[];
}

const SECRET = 'a secret of more than thirty-two bytes';
const HOSTS: readonly Host[] = ['own', 'node', 'express'];
/** Targets that one application is sent: to make one takes as long as to send a hundred. */
const EACH = 2_000;
/** One target in so many is also sent to the same application without a check. */
const SAMPLE = 20;

const folder = new GuardedFolder();
const battle: Battle = { sent: 0, refused: 0, guarded: 0, peak: 0, misses: [] };

async function main(targets: number, seed: number): Promise<void> {
  // A million malformed targets would each pay for the stack of an error that nobody reads.
  Error.stackTraceLimit = 0;
  try {
    for (let number = 0; battle.sent < targets && battle.misses.length === 0; number++) await fight(settingsOf(seed + number), seed + number, Math.min(EACH, targets));
  } finally {
    folder.remove();
  }
  process.send?.({ ...battle, peak: process.resourceUsage().maxRSS * 1024 }, () => process.exit());
}

/** By turns, so that in the end each scope has met each routing, each host and both roots. */
function settingsOf(number: number): WorldSettings {
  const scopes = Object.values(SCOPES);
  const turn = Math.floor(number / scopes.length);
  const flag = (bit: number): boolean => ((turn >> bit) & 1) === 1;
  return {
    scope: scopes[number % scopes.length] as WorldSettings['scope'],
    routing: { caseSensitive: flag(0), ignoreTrailingSlash: flag(1), ignoreDuplicateSlashes: flag(2) },
    host: HOSTS[turn % HOSTS.length] as Host,
    root: flag(3) ? 'express' : 'waypost',
    make: flag(4) ? 'express' : 'createServer',
    secret: SECRET,
  };
}

async function fight(settings: WorldSettings, seed: number, count: number): Promise<void> {
  const checked = await GuardedWorld.start(settings, folder);
  const unchecked = await GuardedWorld.start({ ...settings, secret: undefined }, folder);
  try {
    const targets = new HostileTargets(seed, STARTS.map((path) => checked.base + path));
    const requests = Array.from({ length: count }, () => targets.next());
    for (const outcome of await attack(checked, requests)) {
      if (outcome.status !== undefined) battle.sent++;
      if (outcome.status === 401) battle.refused++;
      if (isGuarded(outcome)) battle.misses.push(`${JSON.stringify(outcome)} of ${JSON.stringify(settings)}`);
    }
    for (const outcome of await attack(unchecked, requests.filter((_, index) => index % SAMPLE === 0))) {
      if (isGuarded(outcome)) battle.guarded++;
    }
  } finally {
    await checked.close();
    await unchecked.close();
  }
}

function isGuarded({ reached }: Outcome): boolean {
  return reached.some(({ guarded }) => guarded);
}

void main(Number(process.argv[2]), Number(process.argv[3]));
