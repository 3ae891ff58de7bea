import { OutgoingMessage, ServerResponse } from 'node:http';
import { holds } from './fact';

/**
 * Whether `end` of Node's class is Node's own. Where a tracer or logger has wrapped it, for all responses of the process, it hears
 * bodies as bytes, as from Express. The fact: Node's own hands its text to a function `write_`, and no wrapper does.
 */
// eslint-disable-next-line @typescript-eslint/unbound-method -- compared, never called
const { end: NODES } = OutgoingMessage.prototype;
const isKnown = holds('own-end', () => Function.prototype.toString.call(NODES).includes('write_(this, '));

export function isEndOwn(): boolean {
  return isKnown && ServerResponse.prototype.end === NODES;
}
