/**
 * Preloaded with `-r`, lets a process of its own load the library from lib/*.ts as it stands.
 * What a file becomes is kept by what is in it, so that the compiler, whose start takes longer
 * than what most such programs do, is loaded after a change only.
 */
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { resolve } = require('node:path');

// Gone with each npm ci, and so with each other compiler.
const FOLDER = resolve(module.path, '../../node_modules/.cache/waypost-spec');
const SELF = readFileSync(module.filename);

function transpiled(filename) {
  const source = readFileSync(filename, 'utf8');
  const kept = resolve(FOLDER, `${createHash('sha256').update(SELF).update(source).digest('hex')}.js`);
  try {
    return readFileSync(kept, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  const ts = require('typescript');
  const { outputText } = ts.transpileModule(source, { fileName: filename, compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: true } });
  mkdirSync(FOLDER, { recursive: true });
  // Whole or not there, though several processes write it at once.
  const draft = `${kept}.${process.pid}`;
  writeFileSync(draft, outputText);
  renameSync(draft, kept);
  return outputText;
}

require.extensions['.ts'] = (module, filename) => module._compile(transpiled(filename), filename);
