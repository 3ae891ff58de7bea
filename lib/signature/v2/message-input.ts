import type { IncomingHttpHeaders } from 'node:http';
import type { InnerList } from 'structured-headers';
import { structuredHeaders } from '../../packages';
import { canonicalDictionary } from './dictionary';
import { type Rejection, rejection } from '../rejection';

/** The signature that must hold, of those in `Signature-Input` and `Signature` (RFC 9421 section 4). */
export interface MessageSignature {
  /** The covered components, in order, with their parameters behind them: `content-type`, `content-type;sf`. */
  readonly components: readonly string[];
  /** The inner list with its parameters, as sent: the value of `@signature-params`. */
  readonly text: string;
  /** In seconds since the epoch. */
  readonly created: number;
  /** In seconds since the epoch; undefined if the signer set no end. */
  readonly expires: number | undefined;
  readonly nonce: string | undefined;
  readonly keyId: string | undefined;
  readonly alg: string | undefined;
  readonly bytes: Buffer;
}

/** Says which signature must hold, and with which parameters. */
export interface SignaturePolicy {
  readonly label?: string | undefined;
  readonly tag?: string | undefined;
  readonly nonce?: 'required' | 'optional' | undefined;
  /** Allows components of the request that a response answers. @default false */
  readonly isResponse?: boolean;
}

/** The name of HMAC with SHA-256, the only MAC of RFC 9421 section 6.2.2. */
export const ALGORITHM = 'hmac-sha256';

/** Shortest nonce, in characters. */
export const NONCE_LENGTH = 16;

const PARAMETERS: ReadonlySet<string> = new Set(['created', 'expires', 'nonce', 'alg', 'keyid', 'tag']);

/** The parameters of an item; the library's type needs DOM types. */
type Parameters = ReadonlyMap<string, unknown>;

// Bounds the parsing of unverified headers. A label, some 20 components and a long nonce take a quarter of this.
const MAX_LENGTH = 4096;

/** Parses the two headers, or refuses them. */
export function parseMessageSignature(headers: IncomingHttpHeaders, policy: SignaturePolicy = {}): MessageSignature | Rejection {
  const signature = headers.signature;
  const input = headers['signature-input'];
  if (typeof signature !== 'string') return rejection('missing', 'the Signature header is absent');
  if (typeof input !== 'string') return rejection('invalid', 'the Signature-Input header is absent');
  if (signature.length > MAX_LENGTH) return rejection('invalid', `the Signature header is longer than ${MAX_LENGTH} characters`);
  if (input.length > MAX_LENGTH) return rejection('invalid', `the Signature-Input header is longer than ${MAX_LENGTH} characters`);
  const signatures = canonicalDictionary(signature);
  const inputs = canonicalDictionary(input);
  if (signatures === undefined) return rejection('invalid', 'the Signature header is no labels with their values, as RFC 9651 serializes them');
  if (inputs === undefined) return rejection('invalid', 'the Signature-Input header is no labels with their values, as RFC 9651 serializes them');
  if (signatures.size !== inputs.size || [...signatures.keys()].some((label) => !inputs.has(label))) return rejection('invalid', 'Signature and Signature-Input have different labels');
  const { isInnerList, serializeInnerList } = structuredHeaders();
  const found: [string, InnerList][] = [];
  for (const [label, member] of inputs) {
    if (!isInnerList(member)) return rejection('invalid', 'the Signature-Input header holds what is no inner list');
    if ((policy.label ?? label) === label && member[1].get('tag') === policy.tag) found.push([label, member]);
  }
  const [chosen] = found;
  if (chosen === undefined) return rejection('invalid', `the request has no signature ${policy.label === undefined ? '' : `labelled ${policy.label} `}with ${policy.tag === undefined ? 'no tag' : `tag="${policy.tag}"`}`);
  // With no rule for which one counts, a client could choose the weaker one.
  if (found.length > 1) return rejection('invalid', `several signatures have ${policy.tag === undefined ? 'no tag' : `tag="${policy.tag}"`}: the option label says which one must hold`);
  const [label, list] = chosen;
  const [bytes, bytesParameters] = signatures.get(label) ?? [];
  if (!(bytes instanceof ArrayBuffer) || (bytesParameters as Parameters).size > 0) return rejection('invalid', `the Signature header holds no byte sequence for the label ${label}`);
  const components = componentsOf(list[0], policy.isResponse);
  if (typeof components === 'string') return rejection('invalid', components);
  const parameters = signatureParameters(list[1], policy.nonce !== 'optional');
  if (typeof parameters === 'string') return rejection('invalid', parameters);
  return { components, text: inputs.size === 1 ? input.slice(label.length + 1) : serializeInnerList(list), ...parameters, bytes: Buffer.from(bytes) };
}

/** Parameters of components that count in a request, with the type of their values. */
const COMPONENT_PARAMETERS: ReadonlyMap<string, 'boolean' | 'string'> = new Map([['sf', 'boolean'], ['bs', 'boolean'], ['key', 'string'], ['name', 'string']]);

function componentsOf(items: InnerList[0], isResponse = false): string[] | string {
  const components: string[] = [];
  const seen = new Set<string>();
  for (const [name, parameters] of items) {
    if (typeof name !== 'string') return 'a covered component is not a string';
    let component = name;
    if (parameters.size > 0) {
      if (name.includes(';')) return `there is no component ${name}`;
      for (const [key, value] of parameters as Parameters) {
        if (key === 'req' && isResponse && value === true) continue;
        if (key === 'req') return `the component ${name} is of a request that a response answers, and this is a request`;
        if (key === 'tr') return `the component ${name} is of the trailers, which come behind the body that the signature is checked for`;
        const type = COMPONENT_PARAMETERS.get(key);
        if (typeof value !== type || value === false) return `the covered component ${name} has the parameter ${key}, which is none of ${[...COMPONENT_PARAMETERS.keys()].join(', ')} of the right type`;
      }
      component += structuredHeaders().serializeParameters(parameters);
    }
    // The order of parameters makes no other component (RFC 9421 section 2).
    const identity = parameters.size < 2 ? component : name + structuredHeaders().serializeParameters(new Map([...parameters].sort(([a], [b]) => (a < b ? -1 : 1))));
    if (seen.has(identity)) return `the component ${name} is covered twice`;
    seen.add(identity);
    components.push(component);
  }
  return components;
}

function signatureParameters(given: Parameters, needsNonce: boolean): Pick<MessageSignature, 'created' | 'expires' | 'nonce' | 'keyId' | 'alg'> | string {
  for (const name of given.keys()) {
    // An unknown parameter is refused: it may restrict the signature's use.
    if (!PARAMETERS.has(name)) return `the parameter ${name} is none of ${[...PARAMETERS].join(', ')}`;
  }
  const created = given.get('created');
  const expires = given.get('expires');
  const nonce = given.get('nonce');
  const keyId = given.get('keyid');
  const alg = given.get('alg');
  if (!isSeconds(created)) return 'the parameter created is not given as whole seconds since the epoch';
  if (expires !== undefined && !isSeconds(expires)) return 'the parameter expires is not whole seconds since the epoch';
  if (needsNonce && (typeof nonce !== 'string' || nonce.length < NONCE_LENGTH)) return `the parameter nonce is not given as a string of ${NONCE_LENGTH} characters or more`;
  if (nonce !== undefined && typeof nonce !== 'string') return 'the parameter nonce is not a string';
  if (keyId !== undefined && typeof keyId !== 'string') return 'the parameter keyid is not a string';
  if (alg !== undefined && typeof alg !== 'string') return 'the parameter alg is not a string';
  return { created, expires, nonce, keyId, alg };
}

function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value);
}
