import type { KeyAnswer, KeyLookup, SignatureKey, SignatureKeys } from '../../options/options';
import type { ReceivedRequest } from '../scheme';
import { RemoteKeys } from './remote-keys';
import { AgentKeys } from './agent-keys';
import { type MessageKey, readKey } from './message-key';

/** The keys that signatures are checked by. */
export interface KeySource {
  /** True for keys that are at hand: no function of the program and no server is asked. */
  readonly isListed: boolean;
  /** The keys that may have made a signature; none for an unknown id. */
  find(keyId: string | undefined, request: ReceivedRequest, components: readonly string[]): readonly MessageKey[] | Promise<readonly MessageKey[]>;
}

/** @param option Name of the option that the keys are given by. @throws TypeError that begins with it, for a key that can't verify. */
export function keySource(keys: SignatureKeys | undefined, option: string, agents: readonly string[] = []): KeySource {
  if (keys === undefined) return new AgentKeys(agents);
  if (typeof keys === 'function') return new LookupKeys(keys, option);
  if (typeof keys === 'object' && 'jwks' in keys) return new RemoteKeys(keys.jwks as string | URL);
  return new ListedKeys(listOf(keys).map((key, index) => readKey(key, 'verify', `${option}${Array.isArray(keys) ? `[${index}]` : ''}`)));
}

/** Keys given with the options. One with an id is for signatures that name it; one without is for all. */
class ListedKeys implements KeySource {
  readonly isListed = true;
  readonly #keys: readonly MessageKey[];

  constructor(keys: readonly MessageKey[]) {
    this.#keys = keys;
  }

  find(keyId: string | undefined): readonly MessageKey[] {
    return this.#keys.filter(({ id }) => id === undefined || id === keyId);
  }
}

class LookupKeys implements KeySource {
  readonly isListed = false;
  readonly #lookup: KeyLookup;
  readonly #option: string;

  constructor(lookup: KeyLookup, option: string) {
    this.#lookup = lookup;
    this.#option = option;
  }

  find(keyId: string): readonly MessageKey[] | Promise<readonly MessageKey[]> {
    const answer = this.#lookup(keyId);
    // Some database packages return thenables that are not promises.
    if (typeof (answer as PromiseLike<KeyAnswer> | null | undefined)?.then === 'function') return Promise.resolve(answer).then((keys) => this.#read(keys));
    return this.#read(answer as KeyAnswer);
  }

  #read(answer: KeyAnswer): readonly MessageKey[] {
    return answer === undefined || answer === null ? [] : listOf(answer).map((key) => readKey(key, 'verify', `${this.#option}() returned a key that is none`));
  }
}

function listOf(keys: SignatureKey | readonly SignatureKey[]): readonly SignatureKey[] {
  return Array.isArray(keys) ? (keys as readonly SignatureKey[]) : [keys as SignatureKey];
}
