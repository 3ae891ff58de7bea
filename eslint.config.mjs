import { dirname, relative, resolve } from 'node:path';
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

const LIB = resolve(import.meta.dirname, 'lib');

/** Rooms of lib/ and their levels: an import goes down, or stays in its room. See docs/architecture.md. */
const ROOMS = [
  { room: 'index', level: 12, files: /^index$/ },
  { room: 'express', level: 11, files: /^express\// },
  { room: 'application', level: 10, files: /^application\// },
  { room: 'openapi', level: 9, files: /^openapi\// },
  { room: 'pattern', level: 3, files: /^routing\/patterns\// },
  { room: 'routing', level: 8, files: /^routing\// },
  { room: 'check', level: 8, files: /^signature\/(?:check|hook|response-hook|configured-hooks)$/ },
  { room: 'schema', level: 7, files: /^schema\// },
  { room: 'http', level: 6, files: /^http\// },
  { room: 'signing', level: 6, files: /^signature\/(?:sign|signed-fetch|signing)$/ },
  { room: 'scheme', level: 5, files: /^signature\/(?:v1|v2|webhook)\// },
  { room: 'signature', level: 4, files: /^signature\// },
  { room: 'xjson', level: 3, files: /^xjson\// },
  { room: 'options', level: 2, files: /^options\// },
  { room: 'log', level: 1, files: /^log\// },
  { room: 'target', level: 1, files: /^target\// },
  { room: 'tracing', level: 1, files: /^tracing\// },
  { room: 'ground', level: 0, files: /^[a-z-]+$/ },
];

function roomOf(file) {
  const name = relative(LIB, file).replaceAll('\\', '/').replace(/\.ts$/, '');
  return ROOMS.find(({ files }) => files.test(name));
}

const levels = {
  meta: { type: 'problem', schema: [] },
  create(context) {
    const from = roomOf(context.filename);
    const check = (node) => {
      const target = (node.source ?? node.arguments?.[0])?.value;
      if (typeof target !== 'string' || !target.startsWith('.')) return;
      const to = roomOf(resolve(dirname(context.filename), target));
      if (from === undefined || to === undefined || from.room === to.room || to.level < from.level) return;
      context.report({ node, message: `${from.room} (level ${from.level}) must not import ${to.room} (level ${to.level}): what a lower room needs reaches it as a callback` });
    };
    return { 'CallExpression[callee.name="require"]': check, ImportDeclaration: check, ExportNamedDeclaration: check, ExportAllDeclaration: check };
  },
};

/** Words that no first sentence of a comment begins with, and words that none holds. */
const VAGUE = /^(?:What|Who|Whose|Where|Whether|Of|That|Which)\b/;
const TRADE = /\bin the place of\b|\bstands\b|\bby then\b|\ba program has\b/i;
const LONGEST = 15;

/** Consecutive lines of `//` are one comment. */
function joined(comments) {
  const all = [];
  for (const comment of comments) {
    const last = all.at(-1);
    const follows = comment.type === 'Line' && last?.type === 'Line' && last.loc.end.line + 1 === comment.loc.start.line && last.loc.start.column === comment.loc.start.column;
    if (follows) all[all.length - 1] = { ...last, value: `${last.value}\n${comment.value}`, loc: { start: last.loc.start, end: comment.loc.end } };
    else all.push(comment);
  }
  return all;
}

const comments = {
  meta: { type: 'suggestion', schema: [] },
  create(context) {
    return {
      Program() {
        for (const { value, loc } of joined(context.sourceCode.getAllComments())) {
          const text = value.replace(/^\s*\* ?/gm, ' ').replace(/\{@link ([^}]*)\}/g, '$1').replace(/\s+/g, ' ').replace(/^ ?(?:@internal(?: --)? ?)?/, '').trim();
          if (/^(?:eslint|@ts-|@jest)/.test(text)) continue;
          const [first] = text.split(/(?<=[.:;!?])\s|\s@/);
          const words = first.split(' ').length;
          if (VAGUE.test(first)) context.report({ loc, message: `a comment begins with a noun or a verb, not with ${JSON.stringify(first.split(' ')[0])}: ${first}` });
          if (words > LONGEST) context.report({ loc, message: `the first sentence of a comment has at most ${LONGEST} words, not ${words}: ${first}` });
          const [trade] = TRADE.exec(text) ?? [];
          if (trade !== undefined) context.report({ loc, message: `say it without ${JSON.stringify(trade)}: ${text}` });
        }
      },
    };
  },
};

export default tseslint.config(
  { ignores: ['dist/', 'coverage/', 'site/', 'node_modules/', 'bench/node_modules/', 'bench/dist/', 'spec/types/programs/', 'spec/programs/types/node_modules/', 'spec/programs/types/sources/', 'lib/entry.d.ts', 'lib/express/entry.d.ts', 'spec/programs/next-app/.next/', 'spec/package/programs/', 'spec/runtimes/node_modules/'] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/unified-signatures': 'off',
      '@typescript-eslint/no-extraneous-class': 'off',
      // Callers without types pass what the types forbid; the checks for it are not in vain.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/no-unnecessary-type-conversion': 'off',
      // Adopted requests and responses become instances without a constructor.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-invalid-void-type': 'off',
      'no-control-regex': 'off',
    },
  },
  {
    files: ['lib/**/*.ts'],
    plugins: { waypost: { rules: { comments, levels } } },
    rules: {
      'waypost/comments': 'error',
      'waypost/levels': 'error',
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true, named: true, defaultFrom: true, namedFrom: true, namespaceFrom: true } }],
      '@typescript-eslint/no-explicit-any': 'error',
      // Node 20 to 24 keep what these hold until a full collection: write bindContext (async-context.ts).
      'no-restricted-properties': ['error', { object: 'AsyncResource', property: 'bind' }, { object: 'AsyncLocalStorage', property: 'bind' }, { object: 'AsyncLocalStorage', property: 'snapshot' }],
      // Files that are loaded when they are first needed: see `late` in packages.ts.
      '@typescript-eslint/no-require-imports': ['error', { allow: ['^\\.'] }],
    },
  },
  {
    files: ['spec/**/*.ts', 'bench/**/*.ts'],
    rules: {
      // Specs throw, pass and assert what the types forbid: that is their work.
      '@typescript-eslint/only-throw-error': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-misused-promises': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/no-dynamic-delete': 'off',
      '@typescript-eslint/no-deprecated': 'off',
      '@typescript-eslint/no-misused-spread': 'off',
      '@typescript-eslint/await-thenable': 'off',
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      '@typescript-eslint/use-unknown-in-catch-callback-variable': 'off',
      '@typescript-eslint/no-generated-empty-object-type': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
      '@typescript-eslint/no-require-imports': 'off',
      'no-sparse-arrays': 'off',
    },
  },
  {
    files: ['lib/entry.js', 'lib/express/entry.js'],
    languageOptions: { sourceType: 'commonjs' },
  },
  {
    files: ['**/*.mjs', '**/*.js', '**/*.cjs'],
    languageOptions: {
      globals: Object.fromEntries(['AbortController', 'process', 'console', 'Buffer', 'fetch', 'URL', 'URLSearchParams', 'setTimeout', 'setImmediate', 'setInterval', 'clearTimeout', 'clearInterval', 'structuredClone', 'TextEncoder', 'TextDecoder', 'performance'].map((name) => [name, 'readonly'])),
    },
    rules: { 'no-unused-vars': ['error', { argsIgnorePattern: '^_' }] },
  },
  {
    files: ['demo/console/*.mjs', 'demo/signers/*.mjs'],
    languageOptions: {
      globals: Object.fromEntries(['AbortController', 'addEventListener', 'Blob', 'btoa', 'crypto', 'document', 'location', 'matchMedia', 'navigator', 'requestAnimationFrame', 'Request'].map((name) => [name, 'readonly'])),
    },
  },
);
