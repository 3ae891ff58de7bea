import type { Config } from 'jest';
import shared from './jest.config';

/** The specs that need a redis-server, which is not on every machine. */
const config: Config = { ...shared, roots: ['<rootDir>/spec/redis'], testPathIgnorePatterns: ['/node_modules/'] };

export = config;
