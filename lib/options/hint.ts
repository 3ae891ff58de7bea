import type { HomeOf } from './field';
import type { SecurityOptions } from './options';

/** Names of options by the path of their section, such as `'server.https.'`; `''` for the top. */
export type Sections = Readonly<Record<string, object>>;

/** A key that is no option of its section. */
export interface UnknownOption {
  /** Path of its section, with a dot at its end; `''` at the top. */
  readonly prefix: string;
  readonly key: string;
}

/** Names of options in other packages. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = { key: ['keys', 'secret'], password: ['secret'], token: ['secret'], tolerance: ['maxAge'], ttl: ['maxAge'], hash: ['algorithm'] };

/** Those of the names that another package's name may mean. */
export function synonymsOf(key: string, names: readonly string[]): readonly string[] {
  return Object.hasOwn(SYNONYMS, key) ? (SYNONYMS[key] as readonly string[]).filter((name) => names.includes(name)) : [];
}

/** Reports an unknown option, with its place or a suggestion where one is near. */
export function tellUnknown({ prefix, key }: UnknownOption, sections: Sections): string {
  return `unknown option ${JSON.stringify(prefix + key)}${hintFor(key, prefix, sections)}`;
}

function hintFor(key: string, prefix: string, sections: Sections): string {
  const folded = key.toLowerCase();
  const paths = Object.entries(sections).flatMap(([section, names]) => Object.keys(names).map((name) => section + name));
  const here = nearestOf(key, Object.keys(sections[prefix] ?? {}));
  if (here.edits === 0) return meant(prefix + here.name);
  // The path's own words in one, as `bodyLimit`, are what Fastify calls some of them.
  const homes = paths.filter((path) => folded === lastOf(path).toLowerCase() || folded === path.replaceAll('.', '').toLowerCase());
  if (homes.length > 0) return `; it belongs at ${homes.map((path) => JSON.stringify(path)).join(' or ')}`;
  if (here.edits <= (key.length < 5 ? 1 : Math.max(2, Math.floor(key.length / 3)))) return meant(prefix + here.name);
  // Among so many names a short word is near to one or another by chance.
  const near = paths.map((path) => ({ path, ...nearestOf(key, [lastOf(path)]) })).sort((a, b) => a.edits - b.edits)[0];
  return near !== undefined && key.length >= 4 && near.edits <= (key.length < 8 ? 1 : 2) ? meant(near.path) : '';
}

function meant(path: string): string {
  return `; did you mean ${JSON.stringify(path)}?`;
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** The name nearest to the key by edit distance, ignoring case. */
export function nearestOf(key: string, names: readonly string[]): { readonly name: string; readonly edits: number } {
  const ranked = names.map((name) => ({ name, edits: editDistance(key.toLowerCase(), name.toLowerCase()) })).sort((a, b) => a.edits - b.edits);
  return ranked[0] ?? { name: '', edits: Infinity };
}

/** The name that contains the key or is contained in it, ignoring case; undefined for none. */
export function partOf(key: string, names: readonly string[]): string | undefined {
  const folded = key.toLowerCase();
  return folded.length < 4 ? undefined : names.find((name) => name.toLowerCase().includes(folded) || folded.includes(name.toLowerCase()));
}

/** Insertions, deletions and replacements of one character, and exchanges of two neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const exchanged = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? Infinity) + 1 : Infinity;
      next.push(Math.min(replaced, exchanged, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}

/** @throws TypeError for a key that belongs elsewhere, and for a misspelt guard. */
export function checkUnknown(key: string, prefix: string, known: readonly string[], homeOf: HomeOf, isGuard: boolean): void {
  const { name, edits } = nearestOf(key, known);
  const said = `unknown option ${JSON.stringify(prefix + key)}`;
  const misspelt = (...meant: readonly string[]): TypeError => new TypeError(`${said}; did you mean ${meant.map((each) => JSON.stringify(prefix + each)).join(' or ')}? A misspelt guard does not start`);
  // `securty: { … }` would start an application without its guards.
  const guards = isGuard || (prefix === '' && name === 'security');
  const synonyms = isGuard ? synonymsOf(key, known) : [];
  if (guards && (synonyms.length > 0 || edits <= 2)) throw misspelt(...(synonyms.length > 0 ? synonyms : [name]));
  const home = homeOf(key);
  if (home !== undefined) throw new TypeError(`${said}; it belongs at "${home}". A misplaced guard does not start`);
  // `signature: { … }` for `requestSignature` is many edits away, and no less a guard that would not start.
  const whole = isGuard ? partOf(key, known) : undefined;
  if (whole !== undefined) throw misspelt(whole);
}

/** The guards under `security`. */
export const GUARDS: readonly (keyof SecurityOptions)[] = ['requestSignature', 'routeConfig', 'webhooks', 'signResponses'];

/** Path of a guard that was given beside `security`, well or badly spelt. */
export const guardHome: HomeOf = (key) => {
  const { name, edits } = nearestOf(key, GUARDS);
  return edits <= 2 ? `security.${name}` : undefined;
};

/** Path of a guard that was given in a section which is none. */
export const strayHome: HomeOf = (key) => (nearestOf(key, ['security']).edits <= 2 ? 'security' : guardHome(key));
