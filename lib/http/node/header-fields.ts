import { OutgoingMessage, ServerResponse } from 'node:http';
import { holds } from './fact';

/** Header fields by their names in lower case; what they hold is for `getHeader` to tell. */
export type Fields = Readonly<Record<string, unknown>>;

/** Fields that anybody asks for. */
const ASKED = ['content-type', 'etag', 'last-modified', 'transfer-encoding'] as const;
/** Names that are kept in mind. An application has few; a client may have a say in more. */
const MOST_NAMES = 256;
/** Characters that no ASCII field value holds (RFC 9110 section 5.5). */
const UNFIT = /[^\t\x20-\x7e]/;

// eslint-disable-next-line @typescript-eslint/unbound-method -- compared, never called
const { setHeader } = OutgoingMessage.prototype;
/** Without a prototype's properties, as Node's own object. A class, since V8 keeps the properties of what a class made in slots, by its shape. */
class FieldTable {
  [name: string]: unknown;
}
Object.setPrototypeOf(FieldTable.prototype, null);
delete (FieldTable.prototype as { constructor?: unknown }).constructor;

const kSymbol = fieldsSymbol();
/** Undefined where Node keeps fields otherwise. */
export const kFields = kSymbol !== undefined && holds('header-fields', () => isHeeded(kSymbol)) ? kSymbol : undefined;
/** The fields of a response of HTTP/2, by name in lower case. */
export const kHttp2Fields = Symbol('waypost.http2.head');
/** Names that Node has taken before, in lower case by how they were written. */
const known = new Map<string, string>();

/**
 * The fields that are set; null for none. The fact: Node keeps them in an object
 * under a symbol of its own, by name in lower case, each with its name as it was
 * written. Its public ways to ask for them make a list of the names anew.
 */
export function fieldsOf(res: ServerResponse): Fields | null {
  const owner = res as unknown as Record<symbol, Fields | null | undefined>;
  const fields = owner[kHttp2Fields] ?? (kFields === undefined ? undefined : owner[kFields]);
  return fields === undefined ? publicFieldsOf(res) : fields;
}

/** Fields by the public methods: a test's response may have none but `getHeader`. */
function publicFieldsOf(res: Partial<ServerResponse>): Fields | null {
  if (res.getHeaderNames !== undefined && res.getHeaders !== undefined) return res.getHeaderNames().length === 0 ? null : res.getHeaders();
  const set = ASKED.filter((name) => res.getHeader?.(name) !== undefined);
  return set.length === 0 ? null : Object.fromEntries(set.map((name) => [name, true]));
}

/**
 * Does what Node's `setHeader` does, for a name that it has taken before.
 * Node checks the name and makes it lower case each time, and its object begins
 * as `{ __proto__: null }`, which V8 makes a hash table of. Returns false where
 * it is Node's to do, or to refuse.
 */
export function setKnown(res: ServerResponse, name: string, value: unknown): boolean {
  const lower = known.get(name);
  if (lower === undefined || !isFieldText(value) || res.headersSent) return false;
  // Tracers replace it on the prototype, and want to hear of every field.
  if (kFields === undefined || ServerResponse.prototype.setHeader !== setHeader) return false;
  const owner = res as unknown as Record<symbol, Record<string, unknown> | null>;
  (owner[kFields] ??= new FieldTable() as Record<string, unknown>)[lower] = [name, value];
  return true;
}

/** The name in lower case of a field that Node has taken before; undefined for any other. */
export function lowerCaseOf(name: string): string | undefined {
  return known.get(name);
}

/** Keeps a name in mind that Node has just taken. */
export function learnName(name: string): void {
  if (known.size >= MOST_NAMES) return;
  // A copy: as a part of a longer text it would keep all of that.
  const own = Buffer.from(name, 'latin1').toString('latin1');
  known.set(own, own.toLowerCase());
}

/** True for a value of ASCII alone, which Node has taken. */
export function isAscii(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isAscii) : !UNFIT.test(String(value));
}

function isFieldText(value: unknown): boolean {
  return typeof value === 'string' ? !UNFIT.test(value) : typeof value === 'number';
}

/**
 * Found by what it holds: null before there is a field, and then an object that
 * has its name. Undefined where `setHeader` is not Node's own, by the error that
 * only Node raises: who replaced it before this was loaded wants to hear of
 * every field too.
 */
function fieldsSymbol(): symbol | undefined {
  if (!String(setHeader).includes('ERR_HTTP_HEADERS_SENT')) return undefined;
  const message = new OutgoingMessage();
  const held = message as unknown as Record<symbol, unknown>;
  const empty = Object.getOwnPropertySymbols(message).filter((key) => held[key] === null);
  message.setHeader('X-Probe', 'some');
  return empty.find((key) => {
    const fields = held[key];
    if (typeof fields !== 'object' || fields === null) return false;
    const field = (fields as Record<string, unknown>)['x-probe'];
    return Array.isArray(field) && field.length === 2 && field[0] === 'X-Probe' && field[1] === 'some';
  });
}

/** True if Node reads and writes the table under that symbol. */
function isHeeded(symbol: symbol): boolean {
  const message = new OutgoingMessage();
  const table = new FieldTable() as Record<string, unknown>;
  table['x-probe'] = ['X-Probe', 'some'];
  (message as unknown as Record<symbol, unknown>)[symbol] = table;
  const isRead = message.getHeader('x-PROBE') === 'some' && message.hasHeader('X-Probe') && message.getHeaderNames().join() === 'x-probe';
  message.setHeader('X-Other', '1');
  message.removeHeader('X-Probe');
  return isRead && message.getHeaderNames().join() === 'x-other' && Object.keys(table).join() === 'x-other';
}
