import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Example, fences, read, ROOT } from './support/document';
import { PROGRAMS } from './support/documents';
import { declarationImports, typeErrors } from './support/program-types';

/* What the compiler says of the documents, and of the declarations. */

test('the programs of the documents are correct by their types', () => {
  expect(typeErrors(PROGRAMS)).toEqual([]);
});

describe('the declarations', () => {
  test('name no package that a user would have to add', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    // Those that come with waypost and bring their own types.
    const brought = (name: string): boolean => {
      if (!Object.keys(dependencies).includes(name)) return false;
      const manifest = readFileSync(resolve(ROOT, 'node_modules', name, 'package.json'), 'utf8');
      return /"types"|\.d\.[cm]?ts/.test(manifest) || existsSync(resolve(ROOT, 'node_modules', name, 'dist/index.d.ts'));
    };
    expect(declarationImports().filter((one) => !brought(one.split(': ')[1] ?? ''))).toEqual([]);
  });
});

test('what the documents say of types is what the compiler says', () => {
  const file = 'docs/typescript.md';
  const snippets = fences(read(file)).filter(({ language }) => language === 'typescript').map(({ text, line }): Example => (
    { name: `${file} line ${line}`, language: 'ts', code: text, exchanges: [], printed: [] }
  ));
  expect(snippets).toHaveLength(3);
  // Each by itself: what one declares of waypost's types, all programs beside it would have.
  for (const snippet of snippets) expect(typeErrors([snippet])).toEqual([]);
  // The compiler is asked: a misspelt property is an error, and so is what was not declared.
  const wrong = (find: RegExp, instead: string): string[] => snippets.flatMap((snippet) => (find.test(snippet.code) ? typeErrors([{ ...snippet, code: snippet.code.replace(find, instead) }]) : []));
  expect(wrong(/\[req\.tenant/, '[req.tenent')).toHaveLength(1);
  expect(wrong(/value: any;/, '')).toHaveLength(1);
  expect(wrong(/text: req\.body\.text }\);/, 'text: req.body.words });')).toHaveLength(1);
  expect(wrong(/'waypost\/express'/, '\'waypost\'').length).toBeGreaterThan(1);
});
