/**
 * Its types are checked by `npm run types`: to check them at each start of jest took two seconds.
 * @jest-config-loader-options { "transpileOnly": true, "moduleTypes": {}, "compilerOptions": { "module": "Node16" } }
 */
import type { Config } from 'jest';
import shared from './jest.config';

// The workers inherit it: programs that are held to Express's run over HTTP/2 as well.
process.env['SPEC_HTTP2'] = '1';

/** What Express does, and its packages, over HTTP/2; and the specs that need nghttp2's clients and nginx. */
const config: Config = {
  ...shared,
  testMatch: ['<rootDir>/spec/http2/**/*.spec.ts', '<rootDir>/spec/ecosystem/**/*.spec.ts', ...['errors', 'express-hooks', 'express-surface', 'field-arguments', 'middleware-exports', 'param', 'server-listener', 'settings', 'view'].map((name) => `<rootDir>/spec/${name}.spec.ts`)],
  // This one looks at what Node keeps of a head, which is another thing in HTTP/2; the types are those of HTTP/1.1.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/spec/ecosystem/patched-response.spec.ts', '<rootDir>/spec/ecosystem/types.spec.ts'],
};

export = config;
