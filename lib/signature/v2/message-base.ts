import { crypto } from '../../packages';
import { foreignCharacter, type ReceivedRequest } from '../scheme';
import type { Secret } from '../hmac';

// What a request target is made of (RFC 9112 section 3.2.1), and what fetch
// leaves raw beside it. A `#` is refused: parsers disagree on what follows it.
const TARGET = /^\/[\x21\x22\x24-\x7e]*/;

// RFC 9110 section 5.6.2, in lower case as RFC 9421 section 2.1 asks.
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

// A line feed in a value would be the end of a line of the base; what is not
// ASCII has no one encoding (RFC 9421 section 2.5).
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;

/** Names the first character by which a target is not in origin form (`/path?query`) and visible ASCII, without a fragment; undefined for none. */
export function refusedCharacter(target: string): string | undefined {
  return foreignCharacter(target, TARGET);
}

/**
 * The signature base of RFC 9421 section 2.5: a line for each covered
 * component, then the parameters. Every value ends with its line, so nothing
 * can move from one to the next. If a component has no value the result is the
 * component.
 * @param components Names without parameters.
 * @param parameters The inner list as it stands in `Signature-Input`.
 */
export function signatureBase(
  request: ReceivedRequest,
  components: readonly string[],
  parameters: string,
): { readonly base: string } | { readonly lacks: string } {
  const lines = linesOf(request);
  let base = '';
  for (const component of components) {
    const value = componentValue(request, component, lines);
    if (value === undefined) return { lacks: component };
    base += `"${component}": ${value}\n`;
  }
  return { base: `${base}"@signature-params": ${parameters}` };
}

/** The MAC of a signature base (RFC 9421 section 3.3.3). */
export function messageMac(secret: Secret, base: string): Buffer {
  return crypto().createHmac('sha256', secret).update(base).digest();
}

/** The lines of each field by its name in lower case, read once: `Signature-Input` can name hundreds of fields, and a head hold thousands of lines. */
type FieldLines = ReadonlyMap<string, readonly string[]>;

/** The lines of a request's fields as received; none where it holds only the values. */
export function linesOf({ rawHeaders = [] }: ReceivedRequest): FieldLines {
  const lines = new Map<string, string[]>();
  for (let i = 1; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i - 1] as string).toLowerCase();
    const line = rawHeaders[i] as string;
    const known = lines.get(name);
    if (known === undefined) lines.set(name, [line]);
    else known.push(line);
  }
  return lines;
}

/**
 * The value of a component (RFC 9421 sections 2.1 and 2.2), undefined where
 * the request has none. Path and query are what was sent, character by
 * character: RFC 9421 section 2.2.6 compares them as RFC 3986 section 6.2.1
 * does, and anything normalised here could be routed otherwise than it was
 * checked.
 */
export function componentValue(request: ReceivedRequest, component: string, lines: FieldLines = linesOf(request)): string | undefined {
  const { method, target, headers } = request;
  switch (component) {
    case '@method':
      return method;
    case '@path':
      return target.split('?', 1)[0];
    case '@query':
      // Absent and empty are the same (RFC 9421 section 2.2.7).
      return target.includes('?') ? target.slice(target.indexOf('?')) : '?';
    case '@request-target':
      return target;
    case '@authority':
      // Which port is the default one depends on the scheme, which a server
      // behind a proxy does not know; clients leave it out of Host.
      if (headers.host === undefined || headers.host === '' || (lines.get('host')?.length ?? 0) > 1) return undefined;
      return fieldValue(headers.host.toLowerCase());
    default:
      return FIELD_NAME.test(component) && isWhole(headers[component], lines.get(component)) ? fieldValue(headers[component]) : undefined;
  }
}

/** Whether Node's value holds every line of the field. Of Content-Type and others it keeps the first, and who passes the request on may send both. */
function isWhole(value: unknown, lines: readonly string[] = []): boolean {
  return lines.length < 2 || lines.join(', ') === value;
}

function fieldValue(value: unknown): string | undefined {
  // Node joins the lines of a field, but for Set-Cookie.
  const text = Array.isArray(value) ? value.join(', ') : value;
  // A name such as `constructor` finds what is no header.
  return typeof text === 'string' && FIELD_VALUE.test(text) ? text.trim() : undefined;
}
