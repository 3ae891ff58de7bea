import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './support/child-program';

interface Locked {
  readonly packages: Readonly<Record<string, { readonly hasInstallScript?: true }>>;
}

/** Packages of development that run a script when they are installed, and what it does. */
const KNOWN: Readonly<Record<string, string>> = {
  '@parcel/watcher': 'finds its binary',
  esbuild: 'finds its binary',
  restana: 'asks for a donation',
  'unrs-resolver': 'finds its binary',
};

/** Packages that report an installation. */
const TELEMETRY = /scarf|analytics|posthog/i;

test.each(['package-lock.json', 'bench/package-lock.json', 'spec/runtimes/package-lock.json', 'spec/proxies/package-lock.json'])('%s has no script that reports an installation', (file) => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as Locked;
  const names = Object.entries(packages).map(([path, { hasInstallScript }]) => ({ name: path.replace(/^.*node_modules\//, ''), hasInstallScript }));
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter(({ name }) => TELEMETRY.test(name))).toEqual([]);
  expect(names.filter(({ name, hasInstallScript }) => hasInstallScript === true && !(name in KNOWN))).toEqual([]);
});
