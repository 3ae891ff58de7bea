/**
 * Tries the tracers of docs/tracing.md, each by itself and with the lines that are written there:
 * `npm run test:tracers`, or with names of tracers those alone. What each finds out must be what is said of it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { runSide } from '../support/side-process.mjs';

/** Longest that one may take, in milliseconds. */
const LIMIT = 60_000;
const HERE = fileURLToPath(new URL('.', import.meta.url));
const DOCUMENT = readFileSync(`${HERE}../../docs/tracing.md`, 'utf8');

const ORDER = '/shops/:shop/orders/:id';
const FAILS = '/shops/:shop/fails';
const NAMED = { requests: [`GET ${ORDER}`, `GET ${FAILS}`, 'GET'], routes: [ORDER, FAILS, null] };
const NAMELESS = { requests: ['GET', 'GET', 'GET'], routes: [null, null, null], errors: [], handlers: ['GET > query'] };
const ERRORS = [`GET ${FAILS}: out of stock`];

/** What each finds out. */
const EXPECTED = {
  opentelemetry: {
    alone: { ...NAMED, errors: [], handlers: [`GET ${ORDER} > query`] },
    bridged: {
      ...NAMED,
      errors: ERRORS,
      handlers: [
        `GET ${FAILS} > middleware counted`, `GET ${FAILS} > route handler fails`, `GET ${ORDER} > middleware counted`, `GET ${ORDER} > route handler order`,
        'GET > middleware counted', 'route handler order > query',
      ],
    },
  },
  'dd-trace': { alone: NAMELESS, bridged: { ...NAMED, errors: ERRORS, handlers: [`GET ${ORDER} > query`] } },
  newrelic: {
    alone: { requests: ['WebTransaction/NormalizedUri/*', 'WebTransaction/NormalizedUri/*', 'WebTransaction/Nodejs/GET/(not found)'], errors: [] },
    bridged: {
      requests: [`WebTransaction/Custom/GET ${ORDER}`, `WebTransaction/Custom/GET ${FAILS}`, 'WebTransaction/Nodejs/GET/(not found)'],
      errors: ERRORS.map((error) => `WebTransaction/Custom/${error}`),
    },
  },
  'elastic-apm-node': {
    alone: { requests: ['GET /orders/:id', 'GET /fails', 'GET unknown route'], errors: [] },
    bridged: { requests: [`GET ${ORDER}`, `GET ${FAILS}`, 'GET unknown route'], errors: ERRORS },
  },
  sentry: { alone: NAMELESS, bridged: { ...NAMED, errors: ERRORS, handlers: [`GET ${ORDER} > query`] } },
};

async function main() {
  const only = process.argv.slice(2);
  const names = readdirSync(`${HERE}programs`).map((file) => file.replace('.cjs', '')).filter((name) => only.length === 0 || only.includes(name));
  console.log('| Tracer | By itself | With the lines of docs/tracing.md |\n|---|---|---|');
  let failed = 0;
  for (const name of names) {
    const cells = [];
    for (const side of ['alone', 'bridged']) {
      const expected = { statuses: [200, 500, 404], ...EXPECTED[name][side] };
      const came = await run(name, side);
      const isFine = isDeepStrictEqual(came.found, expected);
      if (!isFine) failed += 1;
      cells.push(isFine ? 'as is said' : `no: ${came.failed ?? JSON.stringify(came.found)}`);
      if (!isFine && came.errors) process.stderr.write(came.errors);
    }
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
  for (const [name, version] of Object.entries(installed())) {
    if (new RegExp(`\\| [^|]*${name}\`? ${version.replaceAll('.', '\\.')} \\|`).test(DOCUMENT)) continue;
    console.log(`docs/tracing.md does not name ${name} ${version}`);
    failed += 1;
  }
  process.exitCode = failed === 0 ? 0 : 1;
}

/** The versions that package-lock.json holds of what the table names. */
function installed() {
  const { packages } = JSON.parse(readFileSync(`${HERE}package-lock.json`, 'utf8'));
  const named = ['@opentelemetry/instrumentation-http', 'dd-trace', 'newrelic', 'elastic-apm-node', '@sentry/node'];
  return Object.fromEntries(named.map((name) => [name, packages[`node_modules/${name}`].version]));
}

function run(name, side) {
  return runSide(HERE, ['start.cjs', name, side], { env: { NODE_ENV: 'production' }, limit: LIMIT });
}

await main();
