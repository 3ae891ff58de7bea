/** Paths of one registration: segments of each, as `createServer` reads them. */
export type Patterns = readonly (readonly string[])[];

/** What a pattern finds in a path. */
export interface Hit {
  readonly params: Record<string, string>;
  /** The part of the path that it takes. */
  readonly prefix: string;
  readonly isMalformed: boolean;
}

export const cut = (path: string): string[] => path.slice(1).split('/');

/** The first of the patterns that a path matches. */
export function firstHit(patterns: Patterns, path: string, isPrefix: boolean): Hit | null {
  const segments = cut(path);
  for (const pattern of patterns) {
    const own = isPrefix && pattern.length === 1 && pattern[0] === '' ? [] : pattern;
    const starts = placed(own, segments, isPrefix);
    if (starts !== null) return capture(own, starts, segments);
  }
  return null;
}

/** Tries everything, the longest "**" first. Answers where each segment of the pattern begins, and where the last ends. */
function placed(pattern: readonly string[], path: readonly string[], isPrefix: boolean, i = 0, at = 0): number[] | null {
  const segment = pattern[i];
  if (segment === undefined) return isPrefix || at === path.length ? [at] : null;
  const text = path[at];
  if (text === undefined || !takes(segment, text)) return null;
  for (let end = segment === '**' ? path.length : at + 1; end > at; end--) {
    const found = placed(pattern, path, isPrefix, i + 1, end);
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

function capture(segments: readonly string[], starts: readonly number[], path: readonly string[]): Hit {
  const params: Record<string, string> = {};
  let isMalformed = false;
  segments.forEach((segment, i) => {
    const name = /^(?:\*+$|:\w+)/.exec(segment)?.[0].replace(':', '');
    if (name === undefined) return;
    const taken = path.slice(starts[i], starts[i + 1]).join('/');
    const value = decode(segment === '**' ? taken.replace(/%2f/gi, '%252F') : taken);
    isMalformed ||= value === null;
    params[name] = value ?? taken;
  });
  return { params, prefix: path.slice(0, starts[segments.length]).map((text) => `/${text}`).join(''), isMalformed };
}
