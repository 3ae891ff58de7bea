/**
 * Its types are checked by `npm run types`: to check them at each start of jest took two seconds.
 * @jest-config-loader-options { "transpileOnly": true, "moduleTypes": {}, "compilerOptions": { "module": "Node16" } }
 */
import { randomInt } from 'node:crypto';
import type { Config } from 'jest';

/** What all chance in the specs begins with; the same each time, unless another is asked for: `SPEC_SEED=7 npx jest`, or `random`. */
const SEED = process.env['SPEC_SEED'] ?? '1';
// The workers inherit it.
process.env['SPEC_SEED'] = SEED === 'random' ? String(randomInt(2 ** 31)) : SEED;
if (SEED === 'random') process.stderr.write(`SPEC_SEED=${process.env['SPEC_SEED']}\n`);

/** Slow specs: `npm run test:long` runs them, and `npx jest spec/NAME.spec.ts` one. */
const SLOW = ['drills', 'xjson-large', 'newcomer', 'express-program', 'entry', 'editor', 'bench-slow-clients', 'production-recipe', 'document-types', 'ecosystem/types', 'ecosystem/readable-body', 'demo', 'framework-between', 'signature-property', 'default-answer', 'xjson-paths', 'late-registration', 'late-capture', 'body-capture', 'changed-members', 'write-timeout', 'disputed-path'].filter((name) => !process.argv.some((given) => given.includes(`spec/${name}`))).map((name) => `<rootDir>/spec/${name}.spec.ts`);

const config: Config = {
  testEnvironment: '<rootDir>/spec/support/environment.ts',
  roots: ['<rootDir>/spec'],
  testMatch: ['**/*.spec.ts'],
  // These need a redis-server (npm run test:redis), Varnish and Squid (npm run test:caches), clients of other languages (npm run test:clients), proxies (npm run test:proxies), nghttp2 (npm run test:http2), a browser (npm run test:browser), and time.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/spec/redis/', '<rootDir>/spec/caches/', '<rootDir>/spec/clients/', '<rootDir>/spec/proxies/', '<rootDir>/spec/browser/', '<rootDir>/spec/http2/', ...SLOW],
  // What they install is none of jest's.
  modulePathIgnorePatterns: ['<rootDir>/spec/programs/', '<rootDir>/spec/proxies/node_modules/', '<rootDir>/spec/package/', '<rootDir>/spec/runtimes/', '<rootDir>/spec/tracers/'],
  transform: { '^.+\\.ts$': '<rootDir>/spec/support/transform.cjs' },
  moduleNameMapper: { '^waypost$': '<rootDir>/lib/index.ts', '^fast-check$': '<rootDir>/spec/support/fast-check.cjs' },
  collectCoverageFrom: ['lib/**/*.ts'],
  coverageProvider: 'v8',
  testTimeout: 30_000,
  // The default leaves a core idle, which on two cores is half the machine.
  maxWorkers: '100%',
  // Letting go of its memory takes a worker more than the default half second on a slow machine.
  workerGracefulExitTimeout: 10_000,
};

export = config;
