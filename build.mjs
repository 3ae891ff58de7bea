/**
 * Makes dist/index.js of all that a server needs to start: a process that loads one file starts sooner than one that
 * looks for a hundred. Files that lib/ requires where it needs them (`late` in lib/packages.ts) become files of
 * dist/late, with what they alone import. Packages are left to be found by themselves.
 */
import { readFileSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { rollup } from '@rollup/wasm-node';

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** A `require` of a file of lib/. */
const REQUIRED = /\brequire\("(\.[^"]*)"\)/g;

const fileOf = (name, from) => `${fileURLToPath(new URL(name, `file://${from}`))}.ts`;

const typescript = {
  name: 'typescript',
  resolveId: (name, from) => (name.startsWith('.') && from !== undefined ? fileOf(name, from) : null),
  // Twice, since esbuild leaves out comments only with all spaces, and V8 reads both. The shortest syntax makes 12 KB less to read.
  load: async (file) => {
    const { code } = await transform(readFileSync(file, 'utf8'), { loader: 'ts', target: 'es2022', format: 'esm', tsconfigRaw: '{}', minifyWhitespace: true, minifySyntax: true });
    return (await transform(code, { target: 'es2022' })).code;
  },
};

const late = {
  name: 'late',
  transform(code, from) {
    return code.replace(REQUIRED, (_, name) => `require(import.meta.ROLLUP_FILE_URL_${this.emitFile({ type: 'chunk', id: fileOf(name, from), name: basename(name), implicitlyLoadedAfterOneOf: [from] })})`);
  },
  // The name as text, so that a bundler of the program finds the file.
  resolveFileUrl: ({ relativePath }) => JSON.stringify(relativePath.startsWith('.') ? relativePath : `./${relativePath}`),
};

rmSync(`${HERE}dist/late`, { recursive: true, force: true });
const bundle = await rollup({
  input: `${HERE}lib/index.ts`,
  external: (name) => /^[a-z]/.test(name),
  plugins: [typescript, late],
  preserveEntrySignatures: 'allow-extension',
  onwarn: (warning) => {
    throw new Error(warning.message);
  },
});
const { output } = await bundle.write({
  dir: `${HERE}dist`, format: 'cjs', generatedCode: { preset: 'es2015', symbols: false }, esModule: true, externalLiveBindings: false, minifyInternalExports: false,
  entryFileNames: ({ name }) => (name === 'index' ? 'index.js' : 'late/[name].js'),
  chunkFileNames: 'late/[name].js',
});
// One such character would have V8 hold, and look through, two bytes for each of the file.
for (const { fileName, code } of output) {
  const beyond = /[^\t\n -~]/.exec(code);
  if (beyond !== null) throw new Error(`dist/${fileName} holds ${JSON.stringify(beyond[0])} at ${beyond.index}: write it in ASCII, in text as an escape`);
}
