import type { PathRules } from './path';
import { Pattern } from './pattern';
import { NestedTail } from './pattern-nest';
import type { Segment } from './pattern-segment';

const NONE: readonly never[] = Object.freeze([]);
const EMPTY: Segment = Object.freeze({ kind: 'static', text: '' });

/** Patterns that one registration in a router may come to; of more the router's path and the registration's are looked at one after the other. */
const MOST_JOINED = 256;

/**
 * The patterns of something registered in a router, under the paths the router
 * is mounted at. A route `/` is the mount path itself (INTERFACE section 4.1).
 * @param prefix Whether `inner` are the paths of middleware or a mount.
 */
export function joinPatterns(mounts: readonly Pattern[], inner: readonly Pattern[], prefix: boolean, rules: PathRules): Pattern[] {
  if (mounts.length > 1 && inner.length > 1 && mounts.length * inner.length > MOST_JOINED) return [nest(mounts, inner, NONE, NONE)];
  return mounts.flatMap((mount) => {
    const joined = new Map<Pattern, Pattern>();
    for (const pattern of inner) joined.set(pattern, join(mount, pattern, prefix, pattern.earlier.map((other) => joined.get(other) as Pattern)));
    const patterns = [...joined.values()];
    return !prefix && rules.asExpress === true && !rules.ignoreTrailingSlash ? patterns.flatMap(withSlash) : patterns;
  });
}

/** In Express the mount path leaves the same of `/m` and `/m/`, however strict: a route `/` takes both. */
function withSlash(pattern: Pattern): Pattern[] {
  const { text, segments, mountLength, earlier, unless, tail } = pattern;
  if (tail !== undefined || mountLength === 0 || mountLength !== segments.length) return [pattern];
  return [pattern, new Pattern(text, [...segments, EMPTY], mountLength, earlier, unless)];
}

function join(mount: Pattern, inner: Pattern, prefix: boolean, earlier: readonly Pattern[]): Pattern {
  const unless = mount.unless.length + mount.earlier.length === 0 ? NONE : [...mount.unless, ...mount.earlier];
  const text = joinTexts(mount, inner);
  if (prefix && inner.segments.length === 0) return new Pattern(text, mount.segments, mount.mountLength, earlier, unless);
  // Where a mount path takes what it can, what is left is what Express would look at.
  if (mount.tail !== undefined || (mount.deeps.length > 0 && inner.tail !== undefined)) return nest([mount], [inner], earlier, unless);
  const root = !prefix && inner.segments.length === 1 && mount.segments.length > 0 && isEmpty(inner.segments[0] as Segment);
  return new Pattern(text, root ? mount.segments : [...mount.segments, ...inner.segments], mount.segments.length, earlier, unless);
}

/** The segments that a mount path begins with stay segments, for plans to be short. */
function nest(mounts: readonly Pattern[], inner: readonly Pattern[], earlier: readonly Pattern[], unless: readonly Pattern[]): Pattern {
  const [mount, first] = [mounts[0] as Pattern, inner[0] as Pattern];
  const open = mount.segments.findIndex(({ kind }) => kind === 'tail' || kind === 'deep');
  const head = mounts.length > 1 ? [] : mount.segments.slice(0, open === -1 ? undefined : open);
  return new Pattern(joinTexts(mount, first), [...head, new NestedTail(mounts, inner)], head.length + 1, earlier, unless);
}

function joinTexts(mount: Pattern, inner: Pattern): string {
  if (mount.text === '/') return inner.text;
  const head = mount.text.replace(mount.isGiven ? '' : /\/$/, '');
  if (inner.text === '/' && head !== '') return head;
  return mount.isGiven || inner.isGiven ? `${head} ${inner.text}` : head + inner.text;
}

/** Everything beneath a pattern; where it takes the rest of a path by an expression, itself. */
export function beneath(pattern: Pattern): Pattern {
  if (pattern.tail !== undefined) return pattern;
  return new Pattern(`${pattern.text}/**`, [...pattern.segments, { kind: 'deep' }], 0);
}

function isEmpty(segment: Segment): boolean {
  return segment.kind === 'static' && segment.text === '';
}
