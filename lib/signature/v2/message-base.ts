import { crypto, late } from '../../packages';
import { type ReceivedRequest, unmatchedCharacter } from '../scheme';
import type { Secret } from '../hmac';

const withParameters = late(() => require('./component') as typeof import('./component'));

// The origin form (RFC 9112 section 3.2.1), with further characters that
// fetch leaves raw. A `#` is refused: parsers differ on what follows it.
const TARGET = /^\/[\x21\x22\x24-\x7e]*/;

// RFC 9110 section 5.6.2, in lower case as RFC 9421 section 2.1 asks.
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

// A line feed would end a line of the base; other characters than ASCII have
// no single encoding (RFC 9421 section 2.5).
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;

/** Describes the first character that breaks the origin form: `/path?query` in visible ASCII, without a fragment; undefined for none. */
export function invalidCharacter(target: string): string | undefined {
  return unmatchedCharacter(target, TARGET);
}

/**
 * The signature base of RFC 9421 section 2.5: a line for each covered
 * component, then the parameters. Every value ends with its line, so nothing
 * can move from one to the next. If a component has no value the result is the
 * component.
 * @param components Names, with their parameters behind them.
 * @param parameters The inner list as written in `Signature-Input`.
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
    base += `${quoted(component)}: ${value}\n`;
  }
  return { base: `${base}"@signature-params": ${parameters}` };
}

/** A component as the base names it: `"content-type";sf` for `content-type;sf`. */
export function quoted(component: string): string {
  const at = component.indexOf(';');
  return at === -1 ? `"${component}"` : `"${component.slice(0, at)}"${component.slice(at)}`;
}

/** The MAC of a signature base (RFC 9421 section 3.3.3). */
export function messageMac(secret: Secret, base: string): Buffer {
  return crypto().createHmac('sha256', secret).update(base).digest();
}

/** The lines of each field by its lower-case name, read once: `Signature-Input` can name hundreds of fields, and a head hold thousands of lines. */
export interface FieldLines extends ReadonlyMap<string, readonly string[]> {
  /** Query and fields as parsed for components with parameters. */
  memo?: Map<string, unknown>;
}

/** The lines of a request's fields as received; none without `rawHeaders`. */
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
 * The value of a component (RFC 9421 sections 2.1 and 2.2); undefined for
 * none. Path and query are not normalised: RFC 9421 section 2.2.6 compares them
 * character by character (RFC 3986 section 6.2.1), and a normalised target could
 * be routed differently from the one received.
 */
export function componentValue(request: ReceivedRequest, component: string, lines: FieldLines = linesOf(request)): string | undefined {
  const { method, target, headers, status } = request;
  if (status !== undefined && component.startsWith('@') && !component.includes(';')) return component === '@status' ? String(status) : undefined;
  switch (component) {
    case '@method':
      return method;
    case '@path':
      return target.split('?', 1)[0];
    case '@query':
      // An absent query equals an empty one (RFC 9421 section 2.2.7).
      return target.includes('?') ? target.slice(target.indexOf('?')) : '?';
    case '@request-target':
      return target;
    case '@authority':
      // The default port depends on the scheme. A server behind a proxy does not
      // know it; clients leave the port out of Host.
      if (headers.host === undefined || headers.host === '' || (lines.get('host')?.length ?? 0) > 1) return undefined;
      return fieldValue(headers.host.toLowerCase());
    case '@scheme':
      // A trusted proxy may say `wss`, which begins as https.
      return request.client?.protocol.replace(/^ws/, 'http');
    case '@target-uri': {
      const [scheme, authority] = [componentValue(request, '@scheme', lines), componentValue(request, '@authority', lines)];
      return scheme === undefined || authority === undefined ? undefined : `${scheme}://${authority}${target}`;
    }
    default:
      if (component.includes(';')) return withParameters().parameterizedValue(request, component, lines);
      return FIELD_NAME.test(component) && isComplete(headers[component], lines.get(component)) ? fieldValue(headers[component]) : undefined;
  }
}

/** True if Node's value holds every line of the field. Node keeps only the first line of Content-Type and others; a proxy may forward them all. */
function isComplete(value: unknown, lines: readonly string[] = []): boolean {
  return lines.length < 2 || lines.join(', ') === value;
}

function fieldValue(value: unknown): string | undefined {
  // Node joins the lines of every field but Set-Cookie.
  const text = Array.isArray(value) ? value.join(', ') : value;
  // A name such as `constructor` finds a function of the prototype.
  return typeof text === 'string' && FIELD_VALUE.test(text) ? text.trim() : undefined;
}
