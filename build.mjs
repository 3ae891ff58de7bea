/**
 * Makes dist/index.js, all of lib/ in one file: a process that loads one file starts sooner than one that looks for
 * a hundred. Packages are left to be found by themselves.
 */
import { readFileSync } from 'node:fs';
import { transform } from 'esbuild';
import { rollup } from '@rollup/wasm-node';

const typescript = {
  name: 'typescript',
  resolveId: (name, from) => (name.startsWith('.') && from !== undefined ? new URL(`${name}.ts`, `file://${from}`).pathname : null),
  load: async (file) => (await transform(readFileSync(file, 'utf8'), { loader: 'ts', target: 'es2022', format: 'esm', tsconfigRaw: '{}' })).code,
};

const bundle = await rollup({
  input: new URL('lib/index.ts', import.meta.url).pathname,
  external: (name) => /^[a-z]/.test(name),
  plugins: [typescript],
  onwarn: (warning) => {
    throw new Error(warning.message);
  },
});
const { output: [{ code }] } = await bundle.write({ file: 'dist/index.js', format: 'cjs', generatedCode: { preset: 'es2015', symbols: false }, esModule: true });
// One such character would have V8 hold, and look through, two bytes for each of the file.
const beyond = /[^\t\n -~]/.exec(code);
if (beyond !== null) throw new Error(`dist/index.js holds ${JSON.stringify(beyond[0])} at ${beyond.index}: write it in ASCII, in text as an escape`);
