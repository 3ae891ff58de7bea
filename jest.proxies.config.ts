/**
 * Its types are checked by `npm run types`: to check them at each start of jest took two seconds.
 * @jest-config-loader-options { "transpileOnly": true, "moduleTypes": {}, "compilerOptions": { "module": "Node16" } }
 */
import type { Config } from 'jest';
import shared from './jest.config';

/** The specs that need real proxies, which are not on every machine. */
const config: Config = { ...shared, roots: ['<rootDir>/spec/proxies'], testPathIgnorePatterns: ['/node_modules/'], testTimeout: 120_000 };

export = config;
