/** Shorter texts are parsed whatever their depth: it is for long ones that V8 takes tenths of a second. */
const LONG = 200_000;
/** Levels that V8 parses in a time that grows with the text's length alone. */
export const MOST_LEVELS = 5000;

/**
 * Where in a long JSON text arrays and objects stand more than 5,000 deep in one
 * another; undefined where they don't. V8 keeps an entry for each open one: 1 MiB
 * of `[` takes it 0.3 s, to refuse it at the end.
 */
export function tooDeepAt(text: string): number | undefined {
  if (text.length <= LONG) return undefined;
  let level = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    // `"`
    if (unit === 34) at = endOfString(text, at);
    // `[` and `{`, `]` and `}`, which differ from one another in one bit.
    else if ((unit | 32) === 123 && ++level > MOST_LEVELS) return at;
    else if ((unit | 32) === 125) level--;
  }
  return undefined;
}

/** Where the string that begins there ends; the end of the text where it doesn't. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

/** Whether an odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  // 92 is a backslash.
  while (text.charCodeAt(first - 1) === 92) first--;
  return (at - first) % 2 === 1;
}
