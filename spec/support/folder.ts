import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** When each file of a {@link Folder} was changed last, in seconds since the epoch: Tue, 14 Nov 2023 22:13:20 GMT. */
const CHANGED = 1_700_000_000;

/** A directory of its own, to be removed after the tests. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'waypost-'));

  /** Its files, by their paths within it. */
  constructor(files: Readonly<Record<string, string>> = {}) {
    for (const [name, text] of Object.entries(files)) this.add(name, text);
  }

  add(name: string, text: string): void {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    utimesSync(path, CHANGED, CHANGED);
  }

  close(): void {
    rmSync(this.path, { recursive: true });
  }
}
