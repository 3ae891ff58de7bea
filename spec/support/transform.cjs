/**
 * Makes JavaScript of the specs and of lib/ for jest, by what builds the package; types are checked by `npm run types`.
 * ts-jest, which loads the TypeScript compiler into each worker, took half a minute longer for a first run.
 */
const { createHash } = require('node:crypto');
const { transformSync, version } = require('esbuild');
const { readFileSync } = require('node:fs');

const SELF = readFileSync(module.filename);

module.exports = {
  getCacheKey: (source, path, { instrument }) => createHash('sha256').update(SELF).update(version).update(path).update(String(instrument)).update(source).digest('hex'),
  process(source, path) {
    return transformSync(source, { loader: 'ts', format: 'cjs', target: 'es2022', sourcemap: 'inline', sourcefile: path, tsconfigRaw: { compilerOptions: { alwaysStrict: true } } });
  },
};
