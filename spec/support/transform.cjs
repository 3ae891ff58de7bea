/** TypeScript to what jest runs: by esbuild, for the compiler takes several times as long, and `npm run types` is there to check types. */
const { createHash } = require('node:crypto');
const { readFileSync } = require('node:fs');

const SELF = readFileSync(module.filename);

/** What the file comes to has one name for each content, compiler and setting. */
function keyOf(source, filename) {
  const { version } = require('esbuild/package.json');
  return createHash('sha256').update(SELF).update(version).update(filename).update('\0').update(source).digest('hex');
}

/** Not loaded where all is kept from before. */
function transpile(source, filename) {
  const { transformSync } = require('esbuild');
  return transformSync(source, { loader: 'ts', format: 'cjs', target: 'es2022', sourcefile: filename, sourcemap: 'inline', tsconfigRaw: '{}' }).code;
}

module.exports = { getCacheKey: keyOf, process: (source, filename) => ({ code: transpile(source, filename) }), keyOf, transpile };
