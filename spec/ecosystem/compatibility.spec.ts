import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { bare, read, ROOT, table } from '../support/document';

const ROWS = table(read('docs/compatibility.md'), 'packages').map(([name, version, seen, spec]) => ({ name: bare(name), version: version ?? '', seen: seen ?? '', spec: /\(\.\.\/(.+)\)/.exec(spec ?? '')?.[1] ?? '' }));

test('the table of packages is in order, each package once', () => {
  const names = ROWS.map(({ name }) => name);
  expect(names.length).toBeGreaterThan(30);
  expect(names).toEqual([...new Set(names)].sort());
});

test.each(ROWS)('$name is the version that is tested, by a spec that imports it', ({ name, version, seen, spec }) => {
  const installed = JSON.parse(read(`node_modules/${name}/package.json`)) as { version: string };
  expect(version).toBe(installed.version);
  expect(read(spec)).toContain(`from '${name}`);
  expect(seen).not.toBe('');
});

test('each spec of a package stands in the document', () => {
  const text = read('docs/compatibility.md');
  const own = ['compatibility', 'guides'];
  const specs = readdirSync(resolve(ROOT, 'spec/ecosystem')).map((file) => file.replace('.spec.ts', '')).filter((name) => !own.includes(name));
  for (const name of specs) expect([name, text.includes(`[${name}](../spec/ecosystem/${name}.spec.ts)`)]).toEqual([name, true]);
});

test('each program stands in the document, and each that stands there is run', () => {
  const programs = readdirSync(resolve(ROOT, 'spec/programs/programs')).map((file) => file.replace('.cjs', ''));
  expect(table(read('docs/compatibility.md'), 'programs').map(([name]) => bare(name))).toEqual(programs.sort());
});

test('each package of the table is a dependency, so that its version is pinned', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<'dependencies' | 'devDependencies', Record<string, string>>;
  const declared = { ...dependencies, ...devDependencies };
  expect(ROWS.filter(({ name }) => declared[name] === undefined)).toEqual([]);
});
