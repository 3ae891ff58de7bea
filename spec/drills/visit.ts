import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Dice } from '../support/hostile-target';
import { Body, FILE_SEEDS, type Kind, KINDS, SIZES } from './bodies';
import { Client, get } from './client';
import { hold } from './drill';

/** How a client reads: at once, with pauses, or so slowly that all bodies wait for it. */
export type Speed = 'fast' | 'uneven' | 'slow';

export interface VisitSettings {
  readonly port: number;
  readonly tls: boolean;
  readonly speed: Speed;
  /** Whether it goes away within an answer. */
  readonly aborts: boolean;
  /** Most requests that are pipelined. */
  readonly requests: number;
  /** How long a slow client takes for all that it asked for, in milliseconds. */
  readonly slowness: number;
  /** Longest body, in bytes. */
  readonly largest: number;
}

/** What one connection came to. */
export interface Visit {
  readonly answers: number;
  readonly bytes: number;
}


/**
 * Opens a connection, asks for bodies at once, and compares every byte of what comes.
 * @throws Error for a byte that is not of the body, an answer out of its turn, and one that is not whole.
 */
export async function visit(settings: VisitSettings, dice: Dice): Promise<Visit> {
  const client = await Client.open(settings.port, settings.tls);
  const wanted = Array.from({ length: 1 + dice.below(settings.requests) }, () => choose(dice, settings.largest));
  const total = wanted.reduce((sum, { size }) => sum + size, 0);
  const leaves = settings.aborts ? dice.below(total + 1) : Infinity;
  let bytes = 0;
  for (const [index, body] of wanted.entries()) {
    const { range, from, until } = part(body, dice);
    const text = get(`/body/${body.kind}/${body.size}/${body.seed}`, range);
    let length = 0;
    client.send(text, {
      head: (status) => hold(status === (range === '' ? 200 : 206), `answer ${index} has the status ${status}`),
      body: (chunk, offset) => {
        hold(offset === length && body.expected.holds(chunk, from + offset), `a byte of ${body.kind} ${body.size} from ${from + offset} on is another's`);
        length += chunk.length;
        bytes += chunk.length;
        if (bytes >= leaves) leave(client, settings.tls);
      },
      end: () => {
        hold(length === until - from, `${body.kind} ${body.size} has ${length} of ${until - from} bytes`);
        if (index === wanted.length - 1) client.socket.end();
      },
    });
  }
  if (leaves === 0) client.socket.destroy();
  await pace(client, settings, total, dice);
  await client.closed;
  if (client.error !== undefined) throw client.error;
  if (!settings.aborts) hold(client.answered === wanted.length, `${client.answered} of ${wanted.length} requests were answered`);
  return { answers: client.answered, bytes };
}

/** A socket of TLS can't send a reset. */
function leave({ socket }: Client, tls: boolean): void {
  if (tls) socket.destroy();
  else socket.resetAndDestroy();
}

interface Wanted {
  readonly kind: Kind;
  readonly size: number;
  readonly seed: number;
  readonly expected: Body;
}

/** Of ten bodies one is as large as can be; long ones take up what there is otherwise. */
function choose(dice: Dice, largest: number): Wanted {
  const kind = dice.pick(KINDS);
  const sizes = SIZES.filter((size) => size <= (dice.once(10) ? largest : 100_000));
  const size = dice.pick(sizes);
  const seed = kind === 'sendFile' ? dice.below(FILE_SEEDS) : dice.below(1024);
  return { kind, size, seed, expected: new Body(kind, size, seed) };
}

/** The whole body, or a part of a file. */
function part({ kind, expected: { size } }: Wanted, dice: Dice): { range: string; from: number; until: number } {
  if (kind !== 'sendFile' || !dice.once(3)) return { range: '', from: 0, until: size };
  const from = dice.below(size);
  const until = from + 1 + dice.below(size - from);
  return { range: `Range: bytes=${from}-${until - 1}\r\n`, from, until };
}

async function pace({ socket, closed }: Client, { speed, slowness }: VisitSettings, total: number, dice: Dice): Promise<void> {
  if (speed === 'fast') return;
  const pieces = speed === 'slow' ? 40 : 8;
  for (let read = socket.bytesRead; !socket.destroyed && read < total;) {
    socket.pause();
    await delay(speed === 'slow' ? slowness / pieces : dice.below(50));
    const next = read + total / pieces;
    socket.resume();
    while (!socket.destroyed && socket.bytesRead < next) await Promise.race([once(socket, 'data').catch(() => undefined), closed]);
    read = socket.bytesRead;
  }
  socket.resume();
}
