/**
 * Runs one tracer, in a process of its own: `node start.cjs NAME alone|bridged`. The tracer is loaded before waypost;
 * bridged, so are the lines that docs/tracing.md has for it. The last line is what the tracer found out, as JSON.
 */
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');

const [name, side] = process.argv.slice(2);

/** Runs the lines of the document, as a module that stands here. */
function bridge() {
  if (side !== 'bridged') return;
  const document = readFileSync(join(module.path, '../../docs/tracing.md'), 'utf8');
  const [, code] = new RegExp(`<!-- tracer: ${name} -->\n\`\`\`cjs\n([^]*?)\`\`\``).exec(document);
  const file = join(module.path, `${name}-bridge.cjs`);
  const lines = new Module(file);
  lines.paths = Module._nodeModulePaths(module.path);
  lines._compile(code, file);
}

async function main() {
  try {
    const found = await require(`./programs/${name}.cjs`)(bridge);
    process.stdout.write(`\n${JSON.stringify({ found })}\n`);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error?.stack ?? error}\n`);
    process.stdout.write(`\n${JSON.stringify({ failed: String(error?.message ?? error).split('\n')[0] })}\n`);
    process.exit(1);
  }
}

void main();
