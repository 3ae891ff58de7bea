import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { DRILLS } from './drills/drills';
import { examples, read, ROOT } from './support/document';

const PAGES = readdirSync(resolve(ROOT, 'docs')).filter((file) => file.endsWith('.md'));

describe('README', () => {
  const readme = read('README.md');

  test('is at most 8 KB', () => {
    expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(8 * 1024);
  });

  test('leads nowhere but to what the package holds', () => {
    const { files } = JSON.parse(read('package.json')) as { files: string[] };
    // npm packs these by itself.
    const held = [...files, 'LICENSE', 'README.md'].map((entry) => new RegExp(`^${entry.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}(?:/|$)`));
    const links = [...readme.matchAll(/\]\(([^)#\s]+)/g)].map(([, link = '']) => link).filter((link) => !/^https?:/.test(link));
    expect(links.filter((link) => !held.some((entry) => entry.test(link)))).toEqual([]);
  });

  test('leads to every page of docs', () => {
    expect(PAGES.filter((page) => !readme.includes(`](docs/${page})`))).toEqual([]);
  });

  test('shows one picture, and three numbers that the bench has printed', () => {
    expect(readme.match(/!\[/g)).toHaveLength(1);
    const results = read('bench/results/results.md');
    const [row = ''] = /^\| 30 routes, 3 middleware \|.*$/m.exec(results) ?? [];
    const [head = []] = results.split('\n').filter((line) => line.includes('waypost = 1.00')).map((line) => line.split('|').map((cell) => cell.trim()));
    const printed = (peer: string): string | undefined => row.split('|')[head.indexOf(peer)]?.trim().split(' ')[0];
    expect([...readme.matchAll(/\*\*(\d+\.\d\d)\*\*/g)].map(([, number]) => number)).toEqual(['express', 'fastify', 'node'].map(printed));
    const [, node] = /Node (\d+\.\d+\.\d+)/.exec(results) ?? [];
    expect(readme).toContain(`Node.js ${node ?? 'of the results'}`);
  });
});

describe('the guides from other frameworks', () => {
  const rows = [...read('lib/application/foreign-method.ts').matchAll(/^ {2}(\w+): \['(\w+)'/gm)];

  test.each(rows.map(([, method, framework]) => [method ?? '', framework ?? '']))('app.%s is in the tables from %s', (method, framework) => {
    const page = read(`docs/from-${framework.toLowerCase()}.md`);
    expect(page.split('\n').filter((line) => line.startsWith('|') && line.split(' | ')[0]?.match(/\w+/g)?.includes(method))).not.toEqual([]);
  });

  test('the two programs from Hono answer the same requests alike', () => {
    const [mounted, moved, ...others] = examples(read('docs/from-hono.md')).map(({ exchanges }) => exchanges.map(({ text }) => text));
    expect([moved, others]).toEqual([mounted, []]);
  });
});

test('findings/README.md lists each finding once', () => {
  const scripts = readdirSync(resolve(ROOT, 'findings')).filter((file) => file.endsWith('.sh')).sort();
  expect([...read('findings/README.md').matchAll(/\]\(([\w-]+\.sh)\) \|$/gm)].map(([, file]) => file).sort()).toEqual(scripts);
});

describe('SECURITY.md', () => {
  const [, , , table = ''] = read('SECURITY.md').split(/^## /m);
  const threats = table.split('\n').filter((line) => line.startsWith('| ')).slice(1).map((line) => line.split(' | '));
  const shown = threats.map(([, , cell = '']) => [...cell.matchAll(/\(\.\/spec\/[\w/-]+\.spec\.ts\)|drill `([\w-]+)`/g)]);

  test('names a spec or a drill for each threat', () => {
    expect(threats.length).toBeGreaterThan(30);
    expect(threats.filter((_, index) => shown[index]?.length === 0).map(([threat]) => threat)).toEqual([]);
  });

  test('names no drill that there is not', () => {
    const names = DRILLS.map(({ name }) => name);
    expect(shown.flat().flatMap(([, drill]) => drill ?? []).filter((drill) => !names.includes(drill))).toEqual([]);
  });
});

/** Phrases that a hurried reader reads twice. */
const HARD = /\bbut for\b|\b(?:its|their) (?:like|kin)\b|\bwhatever\b|\bwho(?:so)?ever\b|\bby then\b|\bin the place of\b|\bwhat stands\b|\b(?:do|does|did|is|are|read|reads|one|routed) otherwise\b|\botherwise than\b/gi;

test.each(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'findings/README.md', ...PAGES.map((page) => `docs/${page}`)])('%s uses plain words', (file) => {
  const prose = read(file).replace(/^ *```[^]*?^ *```$/gm, '').replace(/`[^`\n]*`/g, '');
  expect(prose.match(HARD) ?? []).toEqual([]);
});

describe('the Flesch reading ease', () => {
  const files = PAGES.map((page) => `docs/${page}`);
  const scores = JSON.parse(execFileSync(process.execPath, [resolve(__dirname, 'documents-reading-ease.mjs'), ...files], { cwd: ROOT, encoding: 'utf8' })) as [string, number][];

  test.each(scores)('of %s is at least 50', (_, score) => {
    expect(score).toBeGreaterThanOrEqual(50);
  });
});

describe.each(PAGES)('docs/%s', (page) => {
  const text = read(`docs/${page}`);

  test('can be read in ten minutes', () => {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16 * 1024);
  });

  test('starts with what it is for', () => {
    expect(text).toMatch(/^# [^\n]+\n\n[A-Za-z`][^\n|]+\.[^\n]*\n/);
  });

  test('names no commit', () => {
    expect(text.match(/\b(?!ed25519\b)(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,12}\b/g) ?? []).toEqual([]);
  });
});
