import { type Func, isRouter, ROW_PATH, type RouterProgram } from './program';

/** A function in its place, with the whole patterns it is registered under. */
export interface Place {
  /** A function, or an application with a list of its own. */
  readonly func: Func | readonly Place[];
  readonly patterns: readonly Whole[];
  /** undefined in middleware, null for all methods. */
  readonly method: string | null | undefined;
  /** One object for each place of a route. */
  readonly route: object | null;
  /** Mounts around it, the outermost first. */
  readonly mounts: readonly object[];
  /** What has a `next` of its own around it: the mounts, and the route if that has several handlers. */
  readonly level: readonly object[];
  /** The mounts, but for the innermost in which no route is: middleware there counts as that of the router around. */
  readonly home: readonly object[];
}

/** Segments of a pattern, and how many of them are the mount path of the router. */
export interface Whole {
  readonly segments: readonly string[];
  readonly mount: number;
  /** Paths of mounts around that were tried before, in Express's order: where one matches, this does not count. */
  readonly unless: readonly (readonly string[])[];
}

/** What a pattern finds in a path. */
export interface Hit {
  readonly params: Record<string, string>;
  /** How many segments of the path the mount path takes. */
  readonly mount: number;
  /** How many the whole pattern takes. */
  readonly whole: number;
  readonly malformed: boolean;
}

/** Stands for all the functions next to each other that only go on, and leave no trace. */
const GOES_ON: Func = { id: 0, catches: false, act: 'next', timing: 'sync', rewrite: null, late: null, opens: false };

const TOP: readonly Pick<Whole, 'segments' | 'unless'>[] = [{ segments: [], unless: [] }];

/**
 * Lays out a program as one list, from top to bottom.
 * @param apart Whether it is createServer's: else a router is where the first of several paths matches, and its `/` takes a slash too.
 */
export function layOut(program: RouterProgram, apart: boolean, under = TOP, mounts: readonly object[] = [{}], around: readonly object[] = mounts): Place[] {
  const home = routes(program) ? mounts : around;
  const wholes = (paths: readonly string[], prefix: boolean): Whole[] => under.flatMap(({ segments: mount, unless }) => {
    const joined = paths.map((path) => join(mount, cut(path), prefix));
    return joined.flatMap((segments, index): Whole[] => {
      const whole = { segments, mount: mount.length, unless: apart || !prefix ? unless : [...unless, ...joined.slice(0, index)] };
      return apart || prefix || mount.length === 0 || segments !== mount ? [whole] : [whole, { ...whole, segments: [...mount, ''] }];
    });
  });
  return program.entries.flatMap((entry): Place[] => {
    if (entry.kind === 'fill') {
      const { funcs, isRoute } = entry;
      const all = [GOES_ON, ...funcs, ...(entry.behind > 0 ? [GOES_ON] : [])];
      const route = isRoute ? {} : null;
      const place = { patterns: wholes([isRoute ? ROW_PATH : '/'], !isRoute), method: isRoute ? null : undefined, route, mounts, home };
      return all.map((func) => ({ func, level: route === null ? mounts : [...mounts, route], ...place }));
    }
    if (entry.kind === 'route') {
      const route = {};
      const patterns = wholes(entry.paths, false);
      const level = entry.stack.flatMap(({ funcs }) => funcs).length === 1 ? mounts : [...mounts, route];
      return entry.stack.flatMap(({ method, funcs }) => funcs.map((func) => ({ func, patterns, method, route, mounts, level, home })));
    }
    return [entry.paths ?? ['/'], ...(entry.again === null ? [] : [entry.again])].flatMap((paths) => {
      const patterns = wholes(paths, true);
      return entry.items.flatMap((item): Place[] => {
        if (isRouter(item) && !item.application) return layOut(item, apart, patterns, [...mounts, {}], home);
        return [{ func: isRouter(item) ? layOut(item, apart) : item, patterns, method: undefined, route: null, mounts, level: mounts, home }];
      });
    });
  });
}

/**
 * The program with one path for each router. With several that a path may match, express() calls a router as a whole, which is not in
 * the list; it is held to Express itself.
 */
export function withOneMountPath(program: RouterProgram): RouterProgram {
  const one = <Paths extends readonly string[] | null>(paths: Paths): Paths => (paths === null || paths.some((path) => path.includes('**')) ? paths : paths.slice(0, 1) as unknown as Paths);
  return {
    ...program,
    entries: program.entries.map((entry) => {
      if (entry.kind !== 'use' || !entry.items.some(isRouter)) return entry;
      return { ...entry, paths: one(entry.paths), again: one(entry.again), items: entry.items.map((item) => (isRouter(item) ? withOneMountPath(item) : item)) };
    }),
  };
}

/** Whether a route is in a router, or in one that is mounted in it. */
function routes({ entries }: RouterProgram): boolean {
  return entries.some((entry) => {
    if (entry.kind !== 'use') return entry.kind === 'route' || entry.isRoute;
    return entry.items.some((item) => isRouter(item) && !item.application && routes(item));
  });
}

export const cut = (path: string): string[] => path.slice(1).split('/');

/** A prefix ends before a slash; a router's "/" is its mount path. */
function join(mount: readonly string[], own: readonly string[], prefix: boolean): readonly string[] {
  const root = own.length === 1 && own[0] === '';
  return root && (prefix || mount.length > 0) ? mount : [...mount, ...own];
}

/** The first of the patterns that a path matches. */
export function firstHit(patterns: readonly Whole[], path: readonly string[], prefix: boolean): Hit | null {
  for (const pattern of patterns) {
    const starts = placed(pattern.segments, path, prefix);
    if (starts !== null && !pattern.unless.some((other) => placed(other, path, true) !== null)) return capture(pattern, starts, path);
  }
  return null;
}

/** Tries everything, the longest "**" first. Answers where each segment of the pattern begins, and where the last ends. */
function placed(pattern: readonly string[], path: readonly string[], prefix: boolean, i = 0, at = 0): number[] | null {
  const segment = pattern[i];
  if (segment === undefined) return prefix || at === path.length ? [at] : null;
  const text = path[at];
  if (text === undefined || !takes(segment, text)) return null;
  for (let end = segment === '**' ? path.length : at + 1; end > at; end--) {
    const found = placed(pattern, path, prefix, i + 1, end);
    if (found !== null) return [at, ...found];
  }
  return null;
}

function takes(segment: string, text: string): boolean {
  if (segment.startsWith('*')) return text !== '';
  if (!segment.startsWith(':')) return text === segment || decode(text) === segment;
  const constraint = /\((.*)\)$/.exec(segment)?.[1];
  return text !== '' && (constraint === undefined || new RegExp(`^(?:${constraint})$`).test(decode(text) ?? text));
}

function decode(text: string): string | null {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function capture({ segments, mount }: Whole, starts: readonly number[], path: readonly string[]): Hit {
  const params: Record<string, string> = {};
  let malformed = false;
  segments.forEach((segment, i) => {
    const name = /^(?:\*+$|:\w+)/.exec(segment)?.[0].replace(':', '');
    if (name === undefined) return;
    const taken = path.slice(starts[i], starts[i + 1]).join('/');
    const value = decode(segment === '**' ? taken.replace(/%2f/gi, '%252F') : taken);
    malformed ||= value === null;
    params[name] = value ?? taken;
  });
  return { params, mount: starts[mount] as number, whole: starts[segments.length] as number, malformed };
}

/** What tells patterns apart but for names. */
export function shape({ segments }: Whole): string {
  return segments.map((segment) => segment.replace(/^(\*$|:\w+)/, ':')).join('/');
}
