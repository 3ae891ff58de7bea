import { structuredHeaders } from '../../packages';
import type { ReceivedRequest } from '../scheme';
import type { KeySource } from './key-source';
import { type MessageKey, thumbprint } from './message-key';
import { RemoteKeys } from './remote-keys';

/** Path of an agent's keys (draft-meunier-http-message-signatures-directory). */
export const DIRECTORY_PATH = '/.well-known/http-message-signatures-directory';

/**
 * The keys of Web Bot Auth: of the directory of the agent that `Signature-Agent`
 * names, by their thumbprint. No other origin than those of the options is
 * asked, whatever a request names.
 */
export class AgentKeys implements KeySource {
  readonly isListed = false;
  readonly #directories: ReadonlyMap<string, RemoteKeys>;

  /** @param agents URLs, of which the origin counts. */
  constructor(agents: readonly string[]) {
    this.#directories = new Map(agents.map((agent) => [new URL(agent).origin, new RemoteKeys(new URL(DIRECTORY_PATH, agent), thumbprint)]));
  }

  find(keyId: string, request: ReceivedRequest, components: readonly string[]): readonly MessageKey[] | Promise<readonly MessageKey[]> {
    const agent = agentOf(request, components);
    return (agent !== undefined && URL.canParse(agent) && this.#directories.get(new URL(agent).origin)?.find(keyId)) || [];
  }
}

/** The agent that a signature covers: an item, or the member of a dictionary that it names. */
function agentOf({ headers }: ReceivedRequest, components: readonly string[]): string | undefined {
  const text = headers['signature-agent'];
  const covered = components.find((component) => component.startsWith('signature-agent'));
  if (typeof text !== 'string' || covered === undefined) return undefined;
  const { parseDictionary, parseItem } = structuredHeaders();
  try {
    const key = /^signature-agent;key="([^"]*)"$/.exec(covered)?.[1];
    const agent: unknown = (key === undefined ? parseItem(text) : parseDictionary(text).get(key))?.[0];
    return typeof agent === 'string' ? agent : undefined;
  } catch {
    return undefined;
  }
}
