/**
 * Runs one program, in a process of its own: `node start.mjs NAME express|waypost`. The program gets what it asks
 * for by the name `express`, itself or a package of its own, from where it is installed, or from waypost in the very
 * same place, so that what watches over modules (instrumentation) finds it by the name and the version it knows.
 * Its last line is what the program found out, as JSON.
 */
import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const [name, side] = process.argv.slice(2);
const OURS = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
// Names that an import of a CommonJS module may take; to read them out of its text is what Node does.
const NAMES = ['Route', 'Router', 'application', 'json', 'raw', 'request', 'response', 'static', 'text', 'urlencoded'];

if (side === 'waypost') {
  const source = `module.exports = require(${JSON.stringify(OURS)}).express;\n0 && (module.exports = { ${NAMES.join(', ')} });\n`;
  registerHooks({
    load: (url, context, next) => (/\/node_modules\/express\/index\.js$/.test(url) ? { format: 'commonjs', source, shortCircuit: true } : next(url, context)),
  });
}

const require = createRequire(import.meta.url);
try {
  const found = await require(`./programs/${name}.cjs`)();
  process.stdout.write(`\n${JSON.stringify({ found })}\n`);
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error?.stack ?? error}\n`);
  process.stdout.write(`\n${JSON.stringify(error?.code === 'SKIPPED' ? { skipped: error.message } : { failed: String(error?.message ?? error).split('\n')[0] })}\n`);
  process.exit(1);
}
