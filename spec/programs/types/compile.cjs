/** Compiles programs in TypeScript by the types of Express, and with nothing changed but where they import it from by those of waypost/express. */
const assert = require('node:assert/strict');
const { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { spawnSync } = require('node:child_process');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const ROOT = join(module.path, '../../..');
const PACKAGES = join(module.path, 'node_modules');

/**
 * Compiles a file of `sources`, or the checkout that an environment variable names, by its own tsconfig.json if it has one, with options
 * that go before that. Throws what the compiler says; without the checkout, that it is left out.
 */
exports.compile = (source, side, { paths = {}, ...options } = {}) => {
  const isFile = source.endsWith('.ts');
  const checkout = process.env[source];
  if (!isFile && !checkout) throw Object.assign(new Error(`${source} must name a folder that holds its sources`), { code: 'SKIPPED' });
  const folder = mkdtempSync(join(tmpdir(), 'waypost-compile-'));
  try {
    // Types of the program's and of waypost's packages are the same ones, as npm installs them.
    symlinkSync(PACKAGES, join(folder, 'node_modules'));
    for (const file of ['package.json', 'dist', 'lib/entry.d.ts', 'lib/express/entry.d.ts']) cpSync(join(ROOT, file), join(folder, 'waypost', file), { recursive: true });
    const program = join(folder, 'program');
    mkdirSync(program);
    if (isFile) cpSync(join(module.path, 'sources', source), join(program, source));
    else for (const name of ['src', 'tsconfig.json']) cpSync(join(checkout, name), join(program, name), { recursive: true });
    const importing = filesThatImport(program);
    assert.ok(importing.length > 0, `${source} imports no Express`);
    if (side === 'waypost') for (const file of importing) writeFileSync(file, readFileSync(file, 'utf8').replace(/(from ['"])express(['"])/g, '$1waypost/express$2'));
    writeFileSync(join(program, 'tsconfig.check.json'), JSON.stringify({
      ...(!isFile ? { extends: './tsconfig.json' } : { files: [source] }),
      compilerOptions: { noEmit: true, ...options, paths: { ...paths, waypost: ['../waypost/lib/entry.d.ts'], 'waypost/express': ['../waypost/lib/express/entry.d.ts'] } },
    }));
    const { status, stdout } = spawnSync(process.execPath, [join(PACKAGES, 'typescript/bin/tsc'), '-p', 'tsconfig.check.json'], { cwd: program, encoding: 'utf8' });
    assert.equal(status, 0, stdout.replaceAll('\n', ' '));
    return { importing: importing.length };
  } finally {
    rmSync(folder, { recursive: true });
  }
};

function filesThatImport(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.ts')).map((name) => join(folder, name));
  return files.filter((file) => /from ['"]express['"]/.test(readFileSync(file, 'utf8')));
}
