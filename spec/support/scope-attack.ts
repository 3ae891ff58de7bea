import { createHmac } from 'node:crypto';
import type { GuardedWorld, Reached } from './guarded-world';
import type { HostileRequest } from './hostile-target';
import { MemorySocket, type Written } from './memory-socket';

/** Requests on one connection. */
const BATCH = 60;

/** What became of one request. */
export interface Outcome {
  readonly request: HostileRequest;
  /** Undefined when Node's parser took it for no request. */
  readonly status: number | undefined;
  readonly reached: readonly Reached[];
}

/** Sends every request, signed if a secret is given; answers what each one reached. */
export async function attack(world: GuardedWorld, requests: readonly HostileRequest[], secret?: string): Promise<Outcome[]> {
  const statuses: (number | undefined)[] = [];
  const send = async (ids: readonly number[]): Promise<void> => {
    const written = ids.map((id) => write(requests[id] as HostileRequest, id, world.upgrades, secret));
    const answers = await MemorySocket.send(world.server, written);
    if (answers.length === ids.length || ids.length === 1) ids.forEach((id, index) => (statuses[id] = answers[index]));
    // Node's parser took something for no request and closed the connection, and what was before may be left unanswered.
    else await Promise.all(ids.map((id) => send([id])));
  };
  const apart: number[] = [];
  const together: number[] = [];
  requests.forEach(({ upgrade }, id) => (upgrade && world.upgrades ? apart : together).push(id));
  const batches = apart.map((id) => [id]);
  for (let i = 0; i < together.length; i += BATCH) batches.push(together.slice(i, i + BATCH));
  await Promise.all(batches.map(send));
  const reached = world.take();
  return requests.map((request, id) => ({ request, status: statuses[id], reached: reached.get(String(id)) ?? [] }));
}

/** The shortest request, made by leaving out characters of the target, for which something still holds. */
export async function shortest(request: HostileRequest, holds: (request: HostileRequest) => Promise<boolean>): Promise<HostileRequest> {
  let found = request;
  for (let length = 8; length > 0; length >>= 1) {
    for (let at = 0; at + length <= found.target.length;) {
      const shorter = { ...found, target: found.target.slice(0, at) + found.target.slice(at + length) };
      if (shorter.target !== '' && (await holds(shorter))) found = shorter;
      else at++;
    }
  }
  return found;
}

function write({ method, target, upgrade }: HostileRequest, id: number, upgrades: boolean, secret: string | undefined): Written {
  const fields = ['Host: localhost', `X-Id: ${id}`];
  if (upgrades && upgrade) fields.push('Connection: Upgrade', 'Upgrade: websocket');
  if (secret !== undefined) {
    const timestamp = String(Date.now());
    fields.push(`Svc-Request-Sig: ${createHmac('sha256', secret).update(method + target + timestamp).digest('hex')}`, `X-Timestamp: ${timestamp}`);
  }
  return { method, text: `${method} ${target} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n` };
}
