import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import ts from 'typescript';
import { ROOT } from './document';

/** A name that a program can see, and what its documentation says. */
export interface PublicName {
  readonly name: string;
  readonly text: string;
}

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16, target: ts.ScriptTarget.ES2022, strict: true, types: ['node'], skipLibCheck: true, noEmit: true,
};

/** What an editor shows of a program that imports waypost as it is published: the built declarations, by the package's own name. */
export class Editor {
  readonly #file = join(ROOT, 'spec/editor-program.mts');
  readonly #service: ts.LanguageService;
  readonly #text: string;

  /** @param text The program; `|name|` marks a place by a name, and is no part of it. */
  constructor(text: string) {
    if (!existsSync(join(ROOT, 'dist'))) throw new Error('it runs on the build: npm run build (npm test does so)');
    this.#text = text.replace(/\|(\w+)\|/g, '/*$1*/');
    this.#service = ts.createLanguageService({
      ...ts.sys,
      useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
      getCompilationSettings: () => OPTIONS,
      getScriptFileNames: () => [this.#file],
      getScriptVersion: () => '1',
      getScriptSnapshot: (name) => {
        const content = this.#read(name);
        return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
      },
      getCurrentDirectory: () => ROOT,
      getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
      fileExists: (name) => name === this.#file || ts.sys.fileExists(name),
      readFile: (name) => this.#read(name),
    });
  }

  #read(name: string): string | undefined {
    return name === this.#file ? this.#text : ts.sys.readFile(name);
  }

  get #program(): ts.Program {
    return this.#service.getProgram() as ts.Program;
  }

  /** What is wrong with the program. */
  errors(): string[] {
    return this.#service.getSemanticDiagnostics(this.#file).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  }

  /** The names that are offered at a place. */
  completions(mark: string): string[] {
    const found = this.#service.getCompletionsAtPosition(this.#file, this.#text.indexOf(`/*${mark}*/`), { includeCompletionsWithInsertText: true, includeCompletionsForModuleExports: true });
    return (found?.entries ?? []).map(({ name }) => name);
  }

  /** What is shown over the name that begins behind a mark: its text, and its examples. */
  hover(mark: string): { text: string; examples: string[] } {
    const info = this.#service.getQuickInfoAtPosition(this.#file, this.#text.indexOf(`/*${mark}*/`) + mark.length + 4);
    const examples = (info?.tags ?? []).filter(({ name }) => name === 'example').map((tag) => ts.displayPartsToString(tag.text));
    return { text: ts.displayPartsToString(info?.documentation), examples };
  }

  /** Every name that the package exports, and every member that it declares of them. */
  publicNames(): PublicName[] {
    const checker = this.#program.getTypeChecker();
    const source = this.#program.getSourceFile(this.#file) as ts.SourceFile;
    const imported = source.statements.find(ts.isImportDeclaration) as ts.ImportDeclaration;
    const module = checker.getSymbolAtLocation(imported.moduleSpecifier) as ts.Symbol;
    return checker.getExportsOfModule(module).flatMap((exported) => {
      const symbol = (exported.flags & ts.SymbolFlags.Alias) === 0 ? exported : checker.getAliasedSymbol(exported);
      const types = [
        ...((symbol.flags & ts.SymbolFlags.Type) === 0 ? [] : [checker.getDeclaredTypeOfSymbol(symbol)]),
        ...((symbol.flags & ts.SymbolFlags.Value) === 0 ? [] : [checker.getTypeOfSymbol(symbol)]),
      ];
      const members = types.flatMap((type) => (type.isUnion() ? [] : checker.getPropertiesOfType(type))).filter(isOwn);
      return [named(exported.name, exported, checker, symbol), ...members.map((member) => named(`${exported.name}.${member.name}`, member, checker))];
    });
  }

  close(): void {
    this.#service.dispose();
  }
}

function named(name: string, symbol: ts.Symbol, checker: ts.TypeChecker, behind = symbol): PublicName {
  // Of what hangs on a function, such as express.json, the editor shows what its type says.
  const type = checker.getTypeOfSymbol(behind);
  const sources = [symbol, behind, type.getCallSignatures()[0], type.symbol as ts.Symbol | undefined];
  return { name, text: sources.map((one) => ts.displayPartsToString(one?.getDocumentationComment(checker))).find((one) => one !== '') ?? '' };
}

/** Whether waypost declares it, for programs to use. */
function isOwn(member: ts.Symbol): boolean {
  const declarations = member.declarations ?? [];
  const hidden = declarations.some((declaration) => (ts.getCombinedModifierFlags(declaration) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0);
  return !hidden && member.name !== 'prototype' && !member.name.startsWith('#') && declarations.some((declaration) => declaration.getSourceFile().fileName.startsWith(join(ROOT, 'dist') + sep));
}
