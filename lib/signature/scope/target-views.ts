import { Path, type PathRules } from '../../routing/patterns/path';
import { pathOf, pathStart } from '../../target/target';
import { canonical, tokens } from './canonical';
import { LOOSE } from './scope-entry';

// A path that every server reads alike but for the case of its letters: no
// escape, no backslash, `;`, `?`, `#`, control or non-ASCII character, no empty
// or dot segment, no trailing slash, no `.xJson`.
const PLAIN = /^(?:\/|(?:\/(?!\.{1,2}(?:\/|$))[!"$&-.0-:<->@-[\]-~]+)+)$/;
// RFC 9112 section 3.2.2. Where such a target's authority ends, URL parsers agree on only if it is a plain host and port.
const ORIGIN = /^https?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?(?=[/?#]|$)/i;
const SUFFIX = /\.xjson$/i;

/** The paths that servers may read of a target that is not plain. */
interface Disguise {
  readonly paths: readonly Path[];
  /** All that may be whole segments, in order; null where nobody disputes which are. */
  readonly pieces: readonly string[] | null;
  /** An absolute target from its authority on, which is the first segment for programs that read `//h/x` as `/h/x`; else null. */
  readonly behindScheme: TargetViews | null;
}

/** A target up to its query, as servers may read it. Each view of it is made once, when the first scope asks for it. */
export class TargetViews {
  readonly target: string;
  #isPlain: boolean | undefined;
  #folded: string | undefined;
  #sent: Path | undefined;
  #loose: Path | undefined;
  #disguise: Disguise | null | undefined;

  constructor(target: string) {
    this.target = target;
  }

  /** Whether every server reads it alike but for the case of its letters. */
  get isPlain(): boolean {
    return (this.#isPlain ??= PLAIN.test(this.target) && !SUFFIX.test(this.target));
  }

  /** The path as sent, to be compared by some rules. */
  sent(rules: PathRules): Path {
    return (this.#sent ??= new Path(pathOf(this.target), rules)).by(rules);
  }

  /** It in lower case. */
  get folded(): string {
    return (this.#folded ??= this.target.toLowerCase());
  }

  /** The same as a path, of a plain one. */
  get loose(): Path {
    return (this.#loose ??= new Path(this.folded, LOOSE));
  }

  /** What a target that is not plain may be; null where it holds no path to judge by. */
  get disguise(): Disguise | null {
    if (this.#disguise === undefined) this.#disguise = disguiseOf(this.target);
    return this.#disguise;
  }
}

function disguiseOf(target: string): Disguise | null {
  const sent = target.slice(pathStart(target)) || '/';
  // RFC 9112 section 3.2: a target may be `*` or `host:port`. Neither holds a path to judge by.
  if (!sent.startsWith('/') || !pathOf(target).startsWith('/')) return null;
  const isAbsolute = target !== '' && !target.startsWith('/');
  if (isAbsolute && !ORIGIN.test(target)) return null;
  const form = canonical(sent);
  // An Express router matches the path undecoded: to it `/a%3a` ends in `a`.
  const paths = new Set([form.path, form.suffixed, sent.toLowerCase().replaceAll('%', '%25')]);
  return { paths: Array.from(paths, (path) => new Path(path, LOOSE)), pieces: form.ambiguous ? tokens(form.text) : null, behindScheme: isAbsolute ? new TargetViews(target.slice(target.indexOf('/') + 1)) : null };
}
