/**
 * Its types are checked by `npm run types`: to check them at each start of jest took two seconds.
 * @jest-config-loader-options { "transpileOnly": true, "moduleTypes": {}, "compilerOptions": { "module": "Node16" } }
 */
import type { Config } from 'jest';
import shared from './jest.config';

/** The specs that drive a browser, which is not on every machine. */
const config: Config = {
  ...shared,
  roots: ['<rootDir>/spec/browser'],
  testPathIgnorePatterns: ['/node_modules/'],
  // A browser takes its time on a busy machine: the limit is there for one that hangs.
  testTimeout: 300_000,
};

export = config;
