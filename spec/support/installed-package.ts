import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { read, ROOT } from './document';
import { Folder } from './folder';

/** What of the package is no work of the build. */
const SHIPPED = ['package.json', 'lib/entry.js', 'lib/entry.d.ts', 'lib/express/entry.js', 'lib/express/entry.d.ts', 'dist/index.js', 'dist/late'];

/** waypost in the `node_modules` of a program, with its types made anew: `npm test` builds none. */
export class InstalledPackage {
  readonly #folder = new Folder();
  /** Where the program stands. */
  readonly path = this.#folder.path;
  /** Where waypost is installed. */
  readonly location = join(this.path, 'node_modules/waypost');

  constructor() {
    if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('it runs on the build: npm run build (npm test does so)');
    for (const file of SHIPPED) {
      mkdirSync(dirname(join(this.location, file)), { recursive: true });
      cpSync(join(ROOT, file), join(this.location, file), { recursive: true });
    }
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    const packages = Object.keys(dependencies).filter((name) => !name.startsWith('@types/'));
    for (const name of [...packages, '@types', 'undici-types']) {
      mkdirSync(dirname(join(this.path, 'node_modules', name)), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), join(this.path, 'node_modules', name));
    }
    declare(join(this.location, 'dist'));
  }

  /** Adds a file of the program; returns its path. */
  add(name: string, text: string): string {
    this.#folder.add(name, text);
    return join(this.path, name);
  }

  close(): void {
    this.#folder.close();
  }
}

function declare(outDir: string): void {
  const file = join(ROOT, 'tsconfig.build.json');
  const { config } = ts.readConfigFile(file, (path) => ts.sys.readFile(path)) as { config: object };
  // Not checked: that is done by `npm run types`.
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT, { noCheck: true, outDir }, file);
  ts.createProgram(fileNames, options).emit();
}
