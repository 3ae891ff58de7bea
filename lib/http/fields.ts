import { OutgoingMessage, type ServerResponse } from 'node:http';

/** Header fields by their names in lower case; what they hold is for `getHeader` to tell. */
export type Fields = Readonly<Record<string, unknown>>;

const PROBE = 'x-probe';
const kFields = fieldsSymbol();

/**
 * The fields that are set; null for none. Node keeps them in an object under a
 * symbol of its own, and each of its public ways to ask for more than one of
 * them makes a list of its names anew: for a response with four fields, a
 * fiftieth of all that the request costs. Where Node keeps them otherwise, the
 * public way is taken.
 */
export function fieldsOf(res: ServerResponse): Fields | null {
  if (kFields !== undefined) return (res as unknown as Record<symbol, Fields | null>)[kFields] as Fields | null;
  return res.getHeaderNames().length === 0 ? null : res.getHeaders();
}

/** Without a prototype's properties, as Node's own object. A class, since V8 keeps the properties of what a class made in slots, by its shape. */
class FieldTable {}
Object.setPrototypeOf(FieldTable.prototype, null);
delete (FieldTable.prototype as { constructor?: unknown }).constructor;

/**
 * Gives a response without fields the object for them. Node's own begins as
 * `{ __proto__: null }`, which V8 makes a hash table of; to fill one and to
 * walk it for the head takes a tenth of the work of a small response. Where
 * Node keeps fields otherwise, nothing is done. Answers whether something was.
 */
export function prepareFields(res: ServerResponse): boolean {
  const owner = res as unknown as Record<symbol, unknown>;
  if (kFields === undefined || owner[kFields] !== null) return false;
  owner[kFields] = new FieldTable();
  return true;
}

/** Takes the object back that no field came into: Node tells no fields from an object without any. */
export function forgetFields(res: ServerResponse): void {
  (res as unknown as Record<symbol, unknown>)[kFields as symbol] = null;
}

/** Found by what it holds: null before there is a field, and then an object that has its name. */
function fieldsSymbol(): symbol | undefined {
  const bare = new OutgoingMessage() as unknown as Record<symbol, unknown>;
  const message = new OutgoingMessage();
  message.setHeader('X-Probe', '');
  return Object.getOwnPropertySymbols(message).find((key) => {
    const held = (message as unknown as Record<symbol, unknown>)[key];
    return bare[key] === null && typeof held === 'object' && held !== null && PROBE in held;
  });
}
