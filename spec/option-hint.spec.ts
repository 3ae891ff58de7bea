import fc from 'fast-check';
import { createServer } from 'waypost';
import { resolveOptions } from '../lib/options/resolve';
import { httpsNames, optionsOf } from './support/program-types';
import { LogRecorder } from './support/running';
import { runs } from './support/runs';

const SECRET = 'a secret of more than thirty-two bytes';

/** Every option that the types declare, by its dotted path. */
const OPTIONS = [
  ...optionsOf('lib/options/options.ts', 'CreateServerOptions').map(({ option }) => option),
  ...httpsNames().map((name) => `server.https.${name}`),
].filter((option) => !option.startsWith('security.webhooks.'));
const SECTIONS = ['', 'logging', 'routing', 'body', 'server'];

function warningsOf(section: string, key: string): readonly string[] {
  const given = { [key]: {} };
  try {
    return resolveOptions(section === '' ? given : { [section]: given }, {}).warnings;
  } catch (error) {
    return [(error as Error).message];
  }
}

const lastOf = (option: string): string => option.slice(option.lastIndexOf('.') + 1);
const sectionOf = (option: string): string => option.slice(0, Math.max(0, option.lastIndexOf('.')));

test('the table of declared options is whole', () => {
  expect(OPTIONS).toEqual(expect.arrayContaining(['env', 'logging.level', 'routing.caseSensitive', 'body.limit', 'server.port', 'server.headersTimeout', 'server.https.key', 'security.requestSignature.secret', 'security.requestSignature.replay.store', 'security.routeConfig.requestSignature.includeRoutes']));
});

describe.each(SECTIONS)('in the section "%s"', (section) => {
  const elsewhere = OPTIONS.filter((option) => !OPTIONS.includes([...(section === '' ? [] : [section]), lastOf(option)].join('.')));

  test.each(elsewhere)('an option of elsewhere is told where it belongs: %s', (option) => {
    const said = warningsOf(section, lastOf(option));
    expect(said).toEqual([expect.stringContaining(`"${option}"`)]);
  });

  test('and whatever its case', () => {
    for (const option of elsewhere) expect(warningsOf(section, lastOf(option).toUpperCase())).toEqual([expect.stringContaining(`"${option}"`)]);
  });
});

test.each<[object, string]>([
  [{ port: 1 }, 'unknown option "port"; it belongs at "server.port"'],
  [{ limit: 1 }, 'unknown option "limit"; it belongs at "body.limit"'],
  [{ logger: true }, 'unknown option "logger"; it belongs at "logging.logger"'],
  [{ bodyLimit: 1 }, 'unknown option "bodyLimit"; it belongs at "body.limit"'],
  [{ trustProxy: true }, 'unknown option "trustProxy"; it belongs at "server.trustProxy"'],
  [{ https: {} }, 'unknown option "https"; it belongs at "server.https"'],
  [{ server: { cert: 1 } }, 'unknown option "server.cert"; it belongs at "server.https.cert"'],
  [{ server: { prot: 1 } }, 'unknown option "server.prot"; did you mean "server.port"?'],
  [{ prot: 1 }, 'unknown option "prot"; did you mean "server.port"?'],
  [{ loging: {} }, 'unknown option "loging"; did you mean "logging"?'],
  [{ Server: {} }, 'unknown option "Server"; did you mean "server"?'],
  [{ routing: { Etag: true } }, 'unknown option "routing.Etag"; it belongs at "etag"'],
  [{ timeout: 1 }, 'unknown option "timeout"; it belongs at "server.timeout" or "security.requestSignature.timeout"'],
  [{ keepAliveTimeuot: 1 }, 'unknown option "keepAliveTimeuot"; did you mean "server.keepAliveTimeout"?'],
])('%j', (given, expected) => {
  expect(resolveOptions(given, {}).warnings).toEqual([expected]);
});

test('where nothing is near there is no hint', () => {
  const far = ['view engine', 'x-powered-by', 'cors', 'db', 'helmet', 'plugins', 'ajv', 'io', 'maxParamLength', 'constructor', 'toString', 'pluginTimeout1234'];
  for (const section of SECTIONS) {
    for (const key of far) expect(warningsOf(section, key)).toEqual([`unknown option ${JSON.stringify(section === '' ? key : `${section}.${key}`)}`]);
  }
  expect(resolveOptions({ security: { requestSignature: { secret: SECRET }, helmet: true } }, {}).warnings).toEqual(['unknown option "security.helmet"']);
});

test('a key of a webhook that is far from all is warned of, too', () => {
  const { warnings } = resolveOptions({ security: { webhooks: [{ path: '/hook', preset: 'github', secret: 'short', description: 'x' }] } }, {});
  expect(warnings).toEqual(['unknown option "security.webhooks[0].description"']);
});

test('any key is warned of once, with itself and at most the options that there are', () => {
  const key = fc.oneof(fc.string({ minLength: 1, maxLength: 20 }), fc.constantFrom(...OPTIONS.map(lastOf)), fc.constantFrom(...OPTIONS.map((option) => lastOf(option).slice(1))));
  fc.assert(fc.property(fc.constantFrom(...SECTIONS), key, (section, name) => {
    fc.pre(!OPTIONS.includes([...(section === '' ? [] : [section]), name].join('.')) && !['logging', 'routing', 'body', 'server', 'security', 'https'].includes(name) && name !== '__proto__');
    const [said = '', ...more] = warningsOf(section, name);
    const path = JSON.stringify(section === '' ? name : `${section}.${name}`);
    expect([said.startsWith(`unknown option ${path}`), more]).toEqual([true, []]);
    const told = [...said.slice(`unknown option ${path}`.length).matchAll(/"([^"]+)"/g)].map(([, option]) => option);
    const known = new Set([...OPTIONS, ...OPTIONS.map(sectionOf), 'security.webhooks']);
    expect(told.filter((option) => !known.has(option!))).toEqual([]);
  }), { numRuns: runs(500) });
});

test('the warning is logged when the application is made', () => {
  const log = new LogRecorder();
  createServer({ logging: { logger: log }, port: 3000 } as object);
  expect(log.messages('warn')).toEqual(['unknown option "port"; it belongs at "server.port"']);
});
