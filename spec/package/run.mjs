/**
 * What comes out of the repository by `npm pack`, as its users get it: `npm run test:package`. Packed from what Git
 * knows and nothing else, installed in an empty folder, and used from CommonJS, ES modules and TypeScript, and
 * bundled. It needs the registry.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAMS = fileURLToPath(new URL('programs/', import.meta.url));
/** Longest that one command may take, in milliseconds. */
const LIMIT = 240_000;

const work = mkdtempSync(join(tmpdir(), 'waypost-package-'));
const [clone, home] = [join(work, 'clone'), join(work, 'home')];
const counts = { passed: 0, failed: 0 };

/** Whether it holds; `detail` says what is wrong where it does not. */
function check(name, holds, detail = '') {
  counts[holds ? 'passed' : 'failed']++;
  console.log(`${holds ? 'ok' : 'FAILED'}: ${name}${holds || detail === '' ? '' : `\n    ${String(detail).trim().replaceAll('\n', '\n    ')}`}`);
  return holds;
}

function same(name, given, expected) {
  return check(name, isDeepStrictEqual(given, expected), `${JSON.stringify(given)}\nis not\n${JSON.stringify(expected)}`);
}

/** Runs a command to its end; how it ended and what it said. */
function run(cwd, command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: LIMIT, env: { ...process.env, NODE_ENV: 'production', npm_config_fund: 'false', npm_config_audit: 'false' }, maxBuffer: 2 ** 26 });
  return { ok: status === 0, said: `${stdout ?? ''}${stderr ?? ''}`, printed: (stdout ?? '').trim() };
}

function succeeds(name, { ok, said }) {
  return check(name, ok, said.slice(-3000));
}

/** What Git knows, as it stands; no dist, no node_modules. */
function copyTracked() {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' }).split('\0').filter((file) => file !== '' && existsSync(join(ROOT, file)));
  for (const file of files) cpSync(join(ROOT, file), join(clone, file));
}

function tarballs() {
  return readdirSync(clone).filter((file) => file.endsWith('.tgz'));
}

function pack() {
  copyTracked();
  const early = run(clone, 'npm', 'pack');
  check('npm pack fails where it cannot build, and makes no tarball', !early.ok && tarballs().length === 0, early.said);
  // As after npm ci.
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  const packed = run(clone, 'npm', 'pack');
  succeeds('npm pack builds', packed);
  const [tarball] = tarballs();
  if (tarball === undefined) throw new Error('there is no tarball');
  return join(clone, tarball);
}

function checkContents(tarball) {
  const files = run(work, 'tar', '-tzf', tarball).printed.split('\n').map((file) => file.replace('package/', ''));
  const scripts = files.filter((file) => /\.[cm]?js$/.test(file));
  const eager = scripts.filter((file) => !/^dist\/late\/[a-z0-9-]+\.js$/.test(file));
  same('all code is in one file, and in those that are loaded when they are first needed, beside the entries that give it its shape', eager.sort(), ['dist/index.js', 'lib/entry.js', 'lib/express/entry.js']);
  check('there are such files', scripts.length > eager.length);
  check('the types are beside it', ['dist/index.d.ts', 'lib/entry.d.ts', 'lib/express/entry.d.ts'].every((file) => files.includes(file)));
  const texts = new Map(['dist/index.js', 'README.md', ...files.filter((file) => file.endsWith('.map'))].map((file) => [file, run(work, 'tar', '-xzOf', tarball, `package/${file}`).printed]));
  for (const [file, text] of texts) if (file.endsWith('.map')) check(`${file} carries its sources`, Array.isArray(JSON.parse(text).sourcesContent));
  const named = /sourceMappingURL=(\S+)/.exec(texts.get('dist/index.js'))?.[1];
  check('a source map that is named is there', named === undefined || files.includes(`dist/${named}`));
  const links = [...texts.get('README.md').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target.split('#')[0]).filter((target) => target !== '' && !/^https?:/.test(target));
  const lost = [...new Set(links)].filter((target) => !files.some((file) => file === normalize(target) || file.startsWith(`${normalize(target)}/`)));
  same("README's links lead to what is in the package", lost, []);
  const manifest = JSON.parse(run(work, 'tar', '-xzOf', tarball, 'package/package.json').printed);
  same('no link of package.json is to what does not exist', ['repository', 'homepage', 'bugs'].filter((name) => manifest[name] !== undefined), []);
}

function checkByTools(tarball) {
  succeeds('publint finds nothing', run(ROOT, 'npx', '--no-install', 'publint', '--strict', tarball));
  succeeds('arethetypeswrong finds nothing', run(ROOT, 'npx', '--no-install', 'attw', tarball, '--no-color'));
}

function install(tarball) {
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), '{"private":true}\n');
  const packages = [tarball, 'typescript-5.6@npm:typescript@~5.6.0', 'typescript-newest@npm:typescript@latest', '@types/node@20'];
  succeeds('npm install in an empty folder', run(home, 'npm', 'install', '--prefer-offline', ...packages));
  cpSync(PROGRAMS, join(home, 'programs'), { recursive: true });
}

/** What the programs print: the names, what one server answers, and whether there is one state. */
const EXPECTED = JSON.parse(readFileSync(join(PROGRAMS, 'expected.json'), 'utf8'));

function checkPrinted(name, { ok, printed, said }) {
  let told;
  try {
    told = JSON.parse(printed.split('\n').at(-1));
  } catch {
    told = said;
  }
  if (!ok) check(name, false, said);
  else same(name, told, EXPECTED);
}

function checkPrograms() {
  for (const file of ['script.cjs', 'module.mjs']) checkPrinted(`${file} runs`, run(home, process.execPath, join('programs', file)));
}

/** Each resolution of modules that TypeScript knows, with what it goes together with. */
const RESOLUTIONS = [
  { resolution: 'node10', module: 'commonjs', esModuleInterop: true },
  { resolution: 'nodenext', module: 'nodenext' },
  { resolution: 'bundler', module: 'esnext' },
];

function checkTypes() {
  for (const compiler of ['typescript-5.6', 'typescript-newest']) {
    const { version } = JSON.parse(readFileSync(join(home, 'node_modules', compiler, 'package.json'), 'utf8'));
    const major = Number(version.split('.')[0]);
    for (const { resolution, module, ...rest } of RESOLUTIONS) {
      // TypeScript 7 has left it out; 6 says that it will.
      if (resolution === 'node10' && major >= 7) continue;
      const folder = join(home, `${compiler}-${resolution}`);
      mkdirSync(folder);
      const extension = module === 'commonjs' ? 'ts' : 'mts';
      cpSync(join(PROGRAMS, 'program.ts'), join(folder, `program.${extension}`));
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
        compilerOptions: {
          module, moduleResolution: resolution, target: 'es2022', lib: ['es2023'], types: [], strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, outDir: '.',
          ...rest, ...(resolution === 'node10' && major === 6 ? { ignoreDeprecations: '6.0' } : {}),
        },
        files: [`program.${extension}`],
      }));
      const label = `TypeScript ${version}, ${resolution}`;
      if (!succeeds(`${label}: compiles`, run(folder, process.execPath, join(home, 'node_modules', compiler, 'bin/tsc'), '-p', '.'))) continue;
      checkPrinted(`${label}: runs`, run(folder, process.execPath, extension === 'ts' ? 'program.js' : 'program.mjs'));
    }
  }
}

/** Bundled with all that it depends on, and run where there is nothing else. */
function checkBundles() {
  const away = join(work, 'away');
  for (const file of ['bundle.cjs', 'bundle.mjs']) {
    const bundle = join(away, 'esbuild', `${file}.cjs`);
    succeeds(`esbuild bundles ${file}`, run(home, 'npx', '--no-install', '--prefix', ROOT, 'esbuild', join('programs', file), '--bundle', '--platform=node', '--log-level=warning', `--outfile=${bundle}`));
    checkPrinted(`${file}, bundled by esbuild, runs`, run(dirname(bundle), process.execPath, bundle));
    const folder = join(away, `ncc-${file}`);
    succeeds(`ncc bundles ${file}`, run(home, 'npx', '--no-install', '--prefix', ROOT, 'ncc', 'build', join('programs', file), '-o', folder));
    checkPrinted(`${file}, bundled by ncc, runs`, run(folder, process.execPath, readdirSync(folder).find((name) => /^index\.[cm]?js$/.test(name)) ?? 'index.js'));
  }
}

try {
  const tarball = pack();
  checkContents(tarball);
  checkByTools(tarball);
  install(tarball);
  checkPrograms();
  checkTypes();
  checkBundles();
} catch (error) {
  check('the run comes to its end', false, error.stack);
} finally {
  rmSync(work, { recursive: true });
}
console.log(`\n${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
