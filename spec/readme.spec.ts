import { existsSync } from 'node:fs';
import { createServer as createHttpServer, maxHeaderSize } from 'node:http';
import { basename, dirname, resolve } from 'node:path';
import ts from 'typescript';
import * as waypost from 'waypost';
import type { Field } from '../lib/options/field';
import { HTTP2 } from '../lib/options/http2';
import { resolveOptions } from '../lib/options/resolve';
import { XJSON_DEFAULTS } from '../lib/xjson/options';
import { bare, fences, read, ROOT, table, type Example, type Exchange } from './support/document';
import { httpsNames, libraryFiles, libraryText, optionsOf } from './support/program-types';
import { DOCUMENTS, PROGRAMS } from './support/documents';
import { ProgramRun } from './support/program-run';

/** The one document that has a mark. */
function holderOf(mark: string): string {
  const [holder, ...others] = DOCUMENTS.filter((file) => read(file).includes(mark));
  if (holder === undefined || others.length > 0) throw new Error(`${mark} stands in ${holder === undefined ? 'no document' : [holder, ...others].join(', ')}`);
  return holder;
}

/** The rows of a table, wherever in the documents it stands. */
function rows(name: string): string[][] {
  return table(read(holderOf(`<!-- table: ${name} -->`)), name);
}

describe('the programs', () => {
  const port = process.env['PORT'];

  beforeAll(() => {
    process.env['PORT'] = '0';
  });

  afterAll(() => {
    if (port === undefined) delete process.env['PORT'];
    else process.env['PORT'] = port;
  });

  test.each(PROGRAMS)('$name: does what is said below it', async ({ code, exchanges, printed }: Example) => {
    const run = await ProgramRun.start(code);
    try {
      for (const exchange of exchanges) {
        const answer = await run.send(exchange);
        if (exchange.status !== undefined) expect(`${exchange.text}: ${answer.status}`).toBe(`${exchange.text}: ${exchange.status}`);
        if (exchange.answerBody !== undefined) expect(answer.body).toBe(exchange.answerBody);
        expectHeaders(exchange, answer.headers);
      }
    } finally {
      await run.stop();
    }
    expect(run.printed).toEqual(printed);
  });

  test.each(PROGRAMS)('$name: says what comes of it', ({ exchanges, printed }: Example) => {
    expect(exchanges.length + printed.length).toBeGreaterThan(0);
  });
});

function expectHeaders(exchange: Exchange, given: NodeJS.Dict<string | string[]>): void {
  for (const [name, value] of exchange.answerHeaders) {
    const header = [given[name.toLowerCase()] ?? []].flat().join(', ');
    // "…" stands for what differs from run to run.
    if (!value.includes('…')) expect(`${name}: ${header}`).toBe(`${name}: ${value}`);
    else for (const part of value.split('…')) expect(header).toContain(part);
  }
}

describe('the tables of options', () => {
  const TABLES: [string, string][] = [
    ['CreateServerOptions', 'lib/options/options.ts'],
    ['WebhookConfig', 'lib/options/options.ts'],
    ['XJsonOptions', 'lib/xjson/options.ts'],
    ['SignRequestOptions', 'lib/signature/sign-options.ts'],
    ['SendFileOptions', 'lib/http/file/file-options.ts'],
    ['CookieOptions', 'lib/http/cookie.ts'],
    ['ListenOptions', 'lib/application/listen.ts'],
    ['CloseOptions', 'lib/application/application.ts'],
    ['EventOptions', 'lib/http/event-stream.ts'],
  ];

  test.each(TABLES)('%s has the names, types and defaults of %s', (name, file) => {
    const written = rows(name).map(([option, type, fallback]) => [bare(option), bare(type), bare(fallback)]);
    const declared = optionsOf(file, name).map(({ option, type, fallback }) => [option, type, bare(fallback)]);
    expect(written).toEqual(declared);
  });

  test.each([
    ...TABLES, ['RouterOptions', 'lib/routing/rules.ts'],
    ['MemoryReplayStoreOptions', 'lib/signature/replay/memory-replay-store.ts'], ['RedisReplayStoreOptions', 'lib/signature/replay/redis-replay-store.ts'],
  ])('%s takes undefined for what is left out, by the types of %s', (name, file) => {
    expect(optionsOf(file, name).filter(({ takesUndefined }) => !takesUndefined).map(({ option }) => option)).toEqual([]);
  });

  const UNITS = TABLES.flatMap(([name, file]) => optionsOf(file, name).flatMap(({ option, text }) => (
    ['milliseconds', 'bytes', 'UTF-16 units'].filter((unit) => text.includes(unit)).map((unit) => [name, option, unit])
  )));

  test.each(UNITS)('%s says of %s that it is in %s', (name, option, unit) => {
    const row = rows(name ?? '').find(([cell]) => bare(cell) === option);
    expect(row?.[3]).toContain(unit);
  });

  test('give the defaults that the code gives', () => {
    const secret = 's'.repeat(32);
    const resolved = resolveOptions({ security: { requestSignature: { secret } } }, {});
    let compared = 0;
    for (const [option, , fallback] of rows('CreateServerOptions')) {
      const literal = literalOf(bare(fallback));
      const path = bare(option).split('.');
      const [, part, limit = ''] = path;
      if (literal === undefined || isNodes(path)) continue;
      if (part === 'http2' && limit !== '') {
        expect([option, (HTTP2 as Record<string, Field<unknown>>)[limit]?.(undefined, limit, [])]).toEqual([option, literal]);
        continue;
      }
      expect([option, path.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], resolved)]).toEqual([option, literal]);
      compared++;
    }
    expect(compared).toBeGreaterThan(15);
  });

  test('give the defaults that xJson has', () => {
    const written = rows('XJsonOptions').map(([option, , fallback]) => [bare(option), literalOf(bare(fallback))]);
    expect(Object.fromEntries(written)).toEqual(XJSON_DEFAULTS);
  });

  test("give Node's defaults of the HTTP server", () => {
    const server = createHttpServer() as unknown as Record<string, unknown>;
    const written = rows('CreateServerOptions').filter(([option]) => isNodes(bare(option).split('.')));
    const named = new Map(written.map(([option, , fallback]) => [bare(option).replace('server.', ''), literalOf(bare(fallback))]));
    expect(named.get('maxHeaderSize')).toBe(maxHeaderSize);
    const compared = [...named].filter(([name, value]) => value !== undefined && typeof server[name] === typeof value);
    expect(compared.map(([name]) => name)).toEqual(expect.arrayContaining(['requestTimeout', 'headersTimeout', 'keepAliveTimeout', 'timeout']));
    // The table shows those of Node 20.
    if (process.versions.node.startsWith('20.')) {
      expect(Object.fromEntries(compared)).toEqual(Object.fromEntries(compared.map(([name]) => [name, server[name]])));
    }
  });

  test('are followed by every name of server.https', () => {
    const [, after = ''] = read(holderOf('<!-- list: HttpsOptions -->')).split('<!-- list: HttpsOptions -->\n');
    const written = [...(after.split('\n')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(written).toEqual(httpsNames());
  });
});

function isNodes(path: readonly string[]): boolean {
  const own = ['host', 'port', 'pipelining', 'writeTimeout', 'handlerTimeout', 'handleSignals', 'trustProxy', 'https', 'http2'];
  return path[0] === 'server' && !own.includes(path[1] ?? '');
}

/** The value that a default begins with: `300000 (5 minutes)`, `'info'`, `false`. */
function literalOf(text: string): unknown {
  const [, word = ''] = /^(\d+|true|false|'[^']*')(?: \(.*\))?$/.exec(text) ?? [];
  return word === '' ? undefined : (JSON.parse(word.replaceAll("'", '"')) as unknown);
}

describe('the table of errors', () => {
  const raised = (): string[] => [...new Set([...libraryText().matchAll(/(?:HttpError\.of\(|super\(status, )'(\w+)'/g)].map(([, code]) => code ?? ''))].sort();
  const declared = Object.entries(waypost.ERRORS).map(([code, { status, message }]) => [code, String(status), message]);

  test('is that of lib/errors.ts', () => {
    expect(rows('ERRORS').map(([code, status, message]) => [bare(code), status, message])).toEqual(declared);
  });

  test.each(declared)('%s is raised somewhere', (code) => {
    expect(raised()).toContain(code);
  });

  test('holds every code that the library raises', () => {
    expect(raised()).toEqual(Object.keys(waypost.ERRORS).sort());
  });
});

describe('the table of dependencies', () => {
  const written = rows('dependencies').map(([name]) => bare(name));

  test('is that of package.json', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    expect(written).toEqual(Object.keys(dependencies).sort());
  });

  test('is what the library imports', () => {
    const imported = libraryFiles().flatMap((file) => {
      const code = read(file).replace(/^ *(?:\/?\*|\/\/).*$/gm, '');
      const packages = [...code.matchAll(/(?: from |require\(|declare module )'([^'.][^']*)'/g)].map(([, name]) => name ?? '').filter((name) => !name.startsWith('node:') && name !== 'waypost');
      // Declarations that are shipped as they are take types alone.
      return file.endsWith('.d.ts') ? packages.map((name) => `@types/${name}`) : packages;
    });
    expect([...new Set(imported)].sort()).toEqual(written);
  });

  test.each(written)('gives a reason for %s', (name) => {
    const row = rows('dependencies').find(([cell]) => bare(cell) === name);
    expect(row?.[1]).not.toBe('');
  });
});

describe('the public names', () => {
  test('are these values', () => {
    expect(Object.keys(waypost).sort()).toEqual([
      'ERRORS', 'HttpError', 'MemoryReplayStore', 'RedisReplayStore', 'Request', 'Response', 'Router', 'ValidationError', 'XJsonResponseHandler',
      'createServer', 'express', 'json', 'raw', 'signRequest', 'signatureDirectory', 'signedFetch', 'static', 'text', 'urlencoded', 'validate',
    ]);
  });

  test('are these, with the types', () => {
    const source = ts.createSourceFile('index.ts', read('lib/index.ts'), ts.ScriptTarget.ES2022, true);
    const names = source.statements.flatMap((statement) => {
      if (ts.isExportDeclaration(statement) && statement.exportClause !== undefined && ts.isNamedExports(statement.exportClause)) {
        return statement.exportClause.elements.map((element) => element.name.text);
      }
      const exported = ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
      const { name } = statement as { name?: ts.Identifier };
      return exported === true && name !== undefined ? [name.text] : [];
    });
    expect([...new Set(names)].sort()).toEqual([
      'AnswerMembers', 'Application', 'BodyEvent', 'BodyOptions', 'BodyParserOptions', 'CloseOptions', 'CookieOptions', 'CreateServerOptions',
      'ERRORS', 'EndEvent', 'Errback', 'ErrorBody', 'ErrorCode', 'ErrorFormat', 'ErrorHandler', 'ErrorRequestHandler', 'EventOptions', 'EventSource',
      'EventStream', 'Express', 'FailureEvent', 'FallbackListener', 'FetchFunction', 'FetchHandler', 'FetchInfo', 'FileCoding', 'ForeignHandler',
      'FormatHandler', 'Handler', 'HandlerEvent', 'Handlers', 'HeaderValue', 'HostApplication', 'Http2Options', 'HttpError', 'HttpServerOptions', 'HttpsOptions',
      'IRouter', 'InjectOptions', 'InjectResponse', 'JsonParserOptions', 'KeyAnswer', 'KeyLookup', 'KnownSettings', 'LineLevel', 'ListenOptions', 'Locals', 'LogLevel', 'Logger',
      'LoggingOptions', 'MatchedRoute', 'MemoryReplayStore', 'MemoryReplayStoreOptions', 'MessageAlgorithm', 'MixedHandlers', 'MountListener', 'NamedKey', 'NextFunction',
      'NodeServer', 'OpenApiDocument', 'OpenApiOptions', 'ParamHandler', 'Params', 'ParsedQuery', 'Path', 'PathParams', 'Paths', 'Presumed', 'ProblemDetails', 'RedisReplayClient', 'RedisReplayStore',
      'RedisReplayStoreOptions', 'RefusalEvent', 'RenderCallback', 'RenderableView', 'ReplayOptions', 'ReplayStore', 'Request', 'RequestEvent',
      'RequestHandler', 'RequestIdOptions', 'RequestParamHandler', 'RequestPart', 'RequestSchemas', 'RequestSignatureConfig', 'Response',
      'ResponseSchemas', 'ResponseSigningOptions', 'Route', 'RouteConfig', 'RouteDescription', 'RouteEvent', 'RouteOptions', 'RouteVerb', 'Router', 'RouterConstructor',
      'RouterOptions', 'RoutingOptions', 'Schema', 'ScopeEntry', 'SecretAnswer', 'SecretLookup', 'SecurityOptions', 'Send', 'SendFileCallback',
      'SendFileOptions', 'ServerSentEvent', 'ServerSettings', 'SignRequestOptions', 'SignatureAlgorithm', 'SignatureKey', 'SignatureKeys',
      'SignatureRoutes', 'SignedFetchOptions', 'StartCallback', 'StaticOptions', 'StreamSource', 'TextParserOptions', 'TrustProxy', 'Unchecked',
      'UncheckedTypes', 'UpgradeListener', 'UrlencodedParserOptions', 'Use', 'ValidationError', 'ValidationIssue', 'Validator', 'Verb', 'ViewClass',
      'ViewEngine', 'ViewOptions', 'WebBotAuthOptions', 'WebhookConfig', 'WebhookPreset', 'XJsonOptions', 'XJsonResponseHandler', 'createServer',
      'express', 'json', 'raw', 'signRequest', 'signatureDirectory', 'signedFetch', 'static', 'text', 'urlencoded', 'validate',
    ]);
  });
});

describe('docs/architecture.md', () => {
  const listed = (fences(read('docs/architecture.md'))[0]?.text ?? '').match(/[\w-]+(?:\.d)?\.ts/g) ?? [];

  test('names every file of the library, and no other', () => {
    expect([...listed].sort()).toEqual(libraryFiles().map((file) => basename(file)).sort());
  });

  test('has the rooms and levels that the lint rule holds imports to', () => {
    const held = [...read('eslint.config.mjs').matchAll(/room: '(\w+)', level: (\d+)/g)].map(([, room, level]) => `${level} ${room}`);
    const said = [...read('docs/architecture.md').matchAll(/^\| (\d+) \| (\w+) \|/gm)].map(([, level, room]) => `${level} ${room}`);
    expect(said.sort()).toEqual(held.sort());
  });
});

describe('the rules of docs/how-it-works.md', () => {
  const methods = rows('rules').flatMap(([link = '', said = '']) => {
    const [, file = ''] = /\]\(\.\.\/(.+)\)/.exec(link) ?? [];
    return [...said.matchAll(/: ((?:`[#\w]+`(?:, )?)+)/g)].flatMap(([, names = '']) => names.split(', ').map((name) => [bare(name), file]));
  });

  test('are of every kind', () => {
    expect(methods.length).toBeGreaterThan(15);
  });

  test.each(methods)('%s is a method of %s', (name, file) => {
    expect(read(file ?? '')).toMatch(new RegExp(`^(?:  (?:protected )?|export function )${name}\\(`, 'm'));
  });
});

describe('the commands', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const commands = DOCUMENTS.flatMap((file) => fences(read(file)).filter(({ language }) => language === 'sh').map(({ text }) => text));

  test('of the README start with the two that a newcomer needs', () => {
    expect(commands.slice(0, 2)).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  });

  test('name scripts that package.json has', () => {
    const names = commands.flatMap((text) => [...text.matchAll(/npm (?:run ([\w:]+)|(start|test))/g)].map(([, run, own]) => run ?? own ?? ''));
    expect(names.length).toBeGreaterThan(2);
    for (const name of names) expect(Object.keys(scripts)).toContain(name);
  });
});

describe.each(DOCUMENTS)('the links of %s', (file) => {
  const links = [...read(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '');

  test('lead somewhere', () => {
    for (const link of links.filter((one) => !/^https?:/.test(one))) {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? file : resolve(ROOT, dirname(file), path).slice(ROOT.length + 1);
      expect([link, existsSync(resolve(ROOT, target))]).toEqual([link, true]);
      if (anchor !== undefined) expect(anchors(read(target))).toContain(anchor);
    }
  });

  test('are relative, but for other sites', () => {
    expect(links.filter((link) => /^(?:\/|file:)/.test(link))).toEqual([]);
  });
});

/** The anchors that headings get where Markdown is shown. */
function anchors(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title.toLowerCase().replace(/[^\w\- ]/g, '').replaceAll(' ', '-'));
}
