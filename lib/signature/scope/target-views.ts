import { Path, type PathRules } from '../../routing/patterns/path';
import { pathOf, pathStart } from '../../target/target';
import { canonical, tokens } from './canonical';
import { LOOSE } from './scope-entry';

// A path that every server reads alike, except for case. It has no escape,
// no backslash, `;`, `?`, `#`, control or non-ASCII character, no empty
// or dot segment, no trailing slash, no `.xJson`.
const PLAIN = /^(?:\/|(?:\/(?!\.{1,2}(?:\/|$))[!"$&-.0-:<->@-[\]-~]+)+)$/;
// RFC 9112 section 3.2.2. URL parsers agree on the end of the authority only for a plain host and port.
const ORIGIN = /^https?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?(?=[/?#]|$)/i;
const SUFFIX = /\.xjson$/i;

/** The paths that servers may read of a target that is not plain. */
interface Readings {
  readonly paths: readonly Path[];
  /** All possible segments, in order; null for an unambiguous path. */
  readonly tokens: readonly string[] | null;
  /** An absolute target from its authority on, since some programs read `//h/x` as `/h/x`; else null. */
  readonly fromAuthority: TargetViews | null;
}

/** A target up to its query, as servers may read it. Each view is made once, when first used. */
export class TargetViews {
  readonly target: string;
  #isPlain: boolean | undefined;
  #folded: string | undefined;
  #sent: Path | undefined;
  #loose: Path | undefined;
  #readings: Readings | null | undefined;

  constructor(target: string) {
    this.target = target;
  }

  /** True if every server reads it alike, except for case. */
  get isPlain(): boolean {
    return (this.#isPlain ??= PLAIN.test(this.target) && !SUFFIX.test(this.target));
  }

  /** The path as sent, under the given rules. */
  sent(rules: PathRules): Path {
    return (this.#sent ??= new Path(pathOf(this.target), rules)).by(rules);
  }

  /** The target in lower case. */
  get folded(): string {
    return (this.#folded ??= this.target.toLowerCase());
  }

  /** The lower-case path of a plain target. */
  get loose(): Path {
    return (this.#loose ??= new Path(this.folded, LOOSE));
  }

  /** The readings of a target that is not plain; null for a target without a path. */
  get readings(): Readings | null {
    if (this.#readings === undefined) this.#readings = readingsOf(this.target);
    return this.#readings;
  }
}

function readingsOf(target: string): Readings | null {
  const sent = target.slice(pathStart(target)) || '/';
  // RFC 9112 section 3.2: a target may be `*` or `host:port`, without a path.
  if (!sent.startsWith('/') || !pathOf(target).startsWith('/')) return null;
  const isAbsolute = target !== '' && !target.startsWith('/');
  if (isAbsolute && !ORIGIN.test(target)) return null;
  const form = canonical(sent);
  // An Express router matches the path undecoded, so that `/a%3a` ends in `a`.
  const paths = new Set([form.path, form.suffixed, sent.toLowerCase().replaceAll('%', '%25')]);
  return { paths: Array.from(paths, (path) => new Path(path, LOOSE)), tokens: form.ambiguous ? tokens(form.text) : null, fromAuthority: isAbsolute ? new TargetViews(target.slice(target.indexOf('/') + 1)) : null };
}
