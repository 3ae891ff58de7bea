import type { IncomingHttpHeaders } from 'node:http';
import { structuredHeaders } from '../../packages';
import { canonicalDictionary } from './dictionary';
import { type Rejection, rejection } from '../rejection';

/** The one signature that a request carries in `Signature-Input` and `Signature` (RFC 9421 section 4). */
export interface MessageSignature {
  /** The covered components, in order. */
  readonly components: readonly string[];
  /** The inner list with its parameters, as sent: the value of `@signature-params`. */
  readonly text: string;
  /** In seconds since the epoch. */
  readonly created: number;
  /** In seconds since the epoch; undefined if the signer set no end. */
  readonly expires: number | undefined;
  readonly nonce: string;
  readonly keyId: string | undefined;
  readonly mac: Buffer;
}

/** The name of HMAC with SHA-256, the only MAC of RFC 9421 section 6.2.2. */
export const ALGORITHM = 'hmac-sha256';

/** Shortest nonce, in characters. */
export const NONCE_LENGTH = 16;

const MAC_LENGTH = 32;

const PARAMETERS: ReadonlySet<string> = new Set(['created', 'expires', 'nonce', 'alg', 'keyid']);

/** The parameters of an item; the library's type needs DOM types. */
type Parameters = ReadonlyMap<string, unknown>;

// Bounds the parsing of unverified headers. A label, some 20 components and a long nonce take a quarter of this.
const MAX_INPUT_LENGTH = 4096;
const MAX_SIGNATURE_LENGTH = 512;

/** Parses the two headers, or refuses them. */
export function parseMessageSignature(headers: IncomingHttpHeaders): MessageSignature | Rejection {
  const signature = headers.signature;
  const input = headers['signature-input'];
  if (typeof signature !== 'string') return rejection('missing', 'the Signature header is absent');
  if (typeof input !== 'string') return rejection('invalid', 'the Signature-Input header is absent');
  if (signature.length > MAX_SIGNATURE_LENGTH) return rejection('invalid', `the Signature header is longer than ${MAX_SIGNATURE_LENGTH} characters`);
  if (input.length > MAX_INPUT_LENGTH) return rejection('invalid', `the Signature-Input header is longer than ${MAX_INPUT_LENGTH} characters`);
  // A second label would be a second signature, with no rule for which one counts.
  const signatures = singleMember(signature);
  const inputs = singleMember(input);
  if (signatures === undefined) return rejection('invalid', 'the Signature header is not one label with its value, as RFC 9651 serializes it');
  if (inputs === undefined) return rejection('invalid', 'the Signature-Input header is not one label with its value, as RFC 9651 serializes it');
  if (signatures.label !== inputs.label) return rejection('invalid', 'Signature and Signature-Input have different labels');
  const [mac, macParameters] = signatures.value;
  if (!(mac instanceof ArrayBuffer) || mac.byteLength !== MAC_LENGTH || macParameters.size > 0) {
    return rejection('invalid', `the Signature header holds no byte sequence of ${MAC_LENGTH} bytes`);
  }
  if (!structuredHeaders().isInnerList(inputs.value)) return rejection('invalid', 'the Signature-Input header holds no inner list');
  const components = componentNames(inputs.value[0]);
  if (typeof components === 'string') return rejection('invalid', components);
  const parameters = signatureParameters(inputs.value[1]);
  if (typeof parameters === 'string') return rejection('invalid', parameters);
  return { components, text: input.slice(inputs.label.length + 1), ...parameters, mac: Buffer.from(mac) };
}

function singleMember(text: string) {
  const dictionary = canonicalDictionary(text);
  if (dictionary?.size !== 1) return undefined;
  for (const [label, value] of dictionary) return { label, value };
  return undefined;
}

function componentNames(items: readonly (readonly [unknown, Parameters])[]): string[] | string {
  const names = new Set<string>();
  for (const [name, parameters] of items) {
    if (typeof name !== 'string') return 'a covered component is not a string';
    // `;req`, `;sf`, `;bs`, `;key`, `;tr` and `;name` change the component's value.
    if (parameters.size > 0) return `the covered component ${name} has parameters`;
    if (names.has(name)) return `the component ${name} is covered twice`;
    names.add(name);
  }
  return [...names];
}

function signatureParameters(given: Parameters): Pick<MessageSignature, 'created' | 'expires' | 'nonce' | 'keyId'> | string {
  for (const name of given.keys()) {
    // An unknown parameter is refused: it may restrict the signature's use, as
    // `tag` does.
    if (!PARAMETERS.has(name)) return `the parameter ${name} is none of ${[...PARAMETERS].join(', ')}`;
  }
  const created = given.get('created');
  const expires = given.get('expires');
  const nonce = given.get('nonce');
  const keyId = given.get('keyid');
  const alg = given.get('alg');
  if (!isSeconds(created)) return 'the parameter created is not given as whole seconds since the epoch';
  if (expires !== undefined && !isSeconds(expires)) return 'the parameter expires is not whole seconds since the epoch';
  if (typeof nonce !== 'string' || nonce.length < NONCE_LENGTH) return `the parameter nonce is not given as a string of ${NONCE_LENGTH} characters or more`;
  if (keyId !== undefined && typeof keyId !== 'string') return 'the parameter keyid is not a string';
  if (alg !== undefined && alg !== ALGORITHM) return `the parameter alg is not "${ALGORITHM}"`;
  return { created, expires, nonce, keyId };
}

function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value);
}
