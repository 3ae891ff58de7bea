import { isUtf8 } from 'node:buffer';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import express, { type ErrorRequestHandler, type Express } from 'express';
import { createServer, type CreateServerOptions, express as wayExpress } from 'waypost';
import { strongFileTag } from './file-tag';
import { askHttp2, withoutConnection } from './http2-client';
import { portOf } from './running';
import { type Answer, ask, type Question } from './wire';

/** An Express program; it is run as it stands on Express and on waypost. */
export type Program = (app: Express, side: Side) => void;

/** What a header or a body holds that differs from run to run, and what to read in its place. */
export type Mask = readonly [RegExp, string];

/** An answer as it can be compared: without what differs from run to run. */
export interface Portrait {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As text; what is no UTF-8 a character a byte. */
  readonly body: string;
}

/** Error middleware that answers alike everywhere; the default answers of Express are HTML. */
export const answerErrors: ErrorRequestHandler = (error: { status?: number; code?: string; message?: string }, _req, res, _next) => {
  res.status(error.status ?? 500).json({ failed: error.message, code: error.code });
};

/** One of the servers that run a program. */
export class Side {
  readonly seen: unknown[] = [];
  readonly #ready: ((server: Server) => void)[] = [];
  readonly #ends: (() => unknown)[] = [];
  port = 0;
  /** True if it was asked since its notes were compared. */
  isAsked = false;
  #server: Server | null = null;
  #heard: () => void = () => undefined;

  /** @param isHttp2 True for one that is asked by HTTP/2. */
  constructor(readonly name: string, readonly isHttp2 = false) {}

  /** Keeps what a program saw, to be compared. */
  note(value: unknown): void {
    this.seen.push(value);
    this.#heard();
  }

  /** Resolves when that many notes are there. */
  async noted(count: number): Promise<unknown[]> {
    while (this.seen.length < count) await new Promise<void>((resolve) => (this.#heard = resolve));
    return this.seen;
  }

  /** Calls a function with the server once it listens. */
  onServer(listener: (server: Server) => void): void {
    this.#ready.push(listener);
  }

  /** Calls a function when the test is over, before the server closes. */
  onClose(end: () => unknown): void {
    this.#ends.push(end);
  }

  listens(server: Server): this {
    this.#server = server;
    this.port = portOf(server);
    for (const listener of this.#ready) listener(server);
    return this;
  }

  async close(): Promise<void> {
    for (const end of this.#ends) await end();
    const server = this.#server;
    server?.closeAllConnections?.();
    if (server?.listening === true) await new Promise((resolve) => server.close(resolve));
  }
}

/**
 * The same program on Express, on an application of waypost's createServer with
 * its own server, and on one of its express() that a server of plain node:http
 * calls. Every request goes to all of them; what they answer must be equal.
 */
export class ExpressOracle {
  readonly #sides: readonly Side[];
  readonly #masks: readonly Mask[];

  private constructor(sides: readonly Side[], masks: readonly Mask[]) {
    this.#sides = sides;
    this.#masks = masks;
  }

  /** The options are waypost's; ETags are made as Express makes them unless they say otherwise. */
  static async start(program: Program, options: CreateServerOptions = {}, masks: readonly Mask[] = []): Promise<ExpressOracle> {
    const theirs = express().disable('x-powered-by').set('env', 'test').set('etag', options.etag ?? 'weak');
    const outer = new Side('express');
    program(theirs, outer);

    const settings: CreateServerOptions = { env: 'test', etag: 'weak', logging: { level: 'silent' }, ...options };
    const [own, adopted] = [createServer(settings), wayExpress(settings)];
    const sides = [new Side('waypost'), new Side('express() of waypost')] as const;
    program(own as unknown as Express, sides[0]);
    program(adopted as unknown as Express, sides[1]);

    sides[0].onClose(() => own.close({ timeout: 0 }));
    return new ExpressOracle([
      outer.listens(await listen(createHttpServer(theirs))),
      sides[0].listens((await own.start(0, '127.0.0.1')) as Server),
      sides[1].listens(await listen(createHttpServer(adopted))),
      ...(process.env['SPEC_HTTP2'] === undefined ? [] : await ExpressOracle.#overHttp2(program, settings)),
    ], masks);
  }

  /** The same for a server of waypost's own, and for one of Node's HTTP/2 that calls an application. */
  static async #overHttp2(program: Program, settings: CreateServerOptions): Promise<readonly Side[]> {
    const [own, adopted] = [createServer({ ...settings, server: { ...settings.server, http2: 'cleartext' } }), wayExpress(settings)];
    const sides = [new Side('waypost over HTTP/2', true), new Side('express() of waypost over HTTP/2', true)] as const;
    program(own as unknown as Express, sides[0]);
    program(adopted as unknown as Express, sides[1]);
    sides[0].onClose(() => own.close({ timeout: 0 }));
    return [sides[0].listens((await own.start(0, '127.0.0.1')) as Server), sides[1].listens(await listen(createHttp2Server(adopted as never) as unknown as Server))];
  }

  /** Of programs that run already, by their names and ports; the first is what the others are held to. */
  static of(ports: Readonly<Record<string, number>>, masks: readonly Mask[] = []): ExpressOracle {
    return new ExpressOracle(Object.entries(ports).map(([name, port]) => Object.assign(new Side(name), { port })), masks);
  }

  /** Does the same with every server of HTTP/1.1, one after the other, and answers what came of all. */
  each<T>(act: (port: number, side: Side) => Promise<T>): Promise<T> {
    for (const side of this.#sides) side.isAsked = false;
    return this.#each(this.#sides.filter(({ isHttp2 }) => !isHttp2), act);
  }

  async #each<T>(sides: readonly Side[], act: (port: number, side: Side) => Promise<T>): Promise<T> {
    const results = new Map<string, T>();
    for (const side of sides) results.set(side.name, await act(side.port, side));
    const expected = [...results.values()][0] as T;
    for (const [name, result] of results) expect({ [name]: result }).toEqual({ [name]: expected });
    return expected;
  }

  /** Sends one request to every server; answers what all of them answered. */
  async ask(path: string, question: Question = {}): Promise<Portrait> {
    return this.compare((side) => this.answer(side, path, question));
  }

  /** Asks every server; over HTTP/2 an answer has no fields of the connection. */
  async compare(act: (side: Side) => Promise<Portrait>): Promise<Portrait> {
    const [first, ...others] = this.#sides as [Side, ...Side[]];
    const expected = await act(first);
    for (const side of others) {
      const actual = await act(side);
      expect({ [side.name]: actual }).toEqual({ [side.name]: side.isHttp2 ? asHttp2(expected, actual) : expected });
    }
    return expected;
  }

  answerOf(side: Side, path: string, question: Question): Promise<Answer> {
    side.isAsked = true;
    return (side.isHttp2 ? askHttp2 : ask)(side.port, path, question);
  }

  async answer(side: Side, path: string, question: Question): Promise<Portrait> {
    return this.portrait(await this.answerOf(side, path, question));
  }

  /** Sends a body of that type by POST. */
  post(path: string, body: string | Uint8Array, type = 'application/json', headers: Record<string, string> = {}): Promise<Portrait> {
    return this.ask(path, { method: 'POST', body, headers: { 'content-type': type, 'content-length': String(Buffer.byteLength(body)), ...headers } });
  }

  /** How many servers run the program. */
  get size(): number {
    return this.#sides.length;
  }

  /** What the programs noted, once each has that many notes. */
  notes(count: number): Promise<unknown[]> {
    const sides = this.#sides.filter(({ isHttp2, isAsked }) => !isHttp2 || isAsked);
    for (const side of sides) side.isAsked = false;
    return this.#each(sides, (_port, side) => side.noted(count));
  }

  /** A client that keeps the cookies it is given, a jar for each server. */
  visitor(): Visitor {
    return new Visitor(this);
  }

  portrait({ status, headers, bytes }: Answer): Portrait {
    const { date: _date, 'x-powered-by': _maker, ...rest } = headers;
    const mask = (text: string): string => this.#masks.reduce((masked, [pattern, instead]) => masked.replace(pattern, instead), text);
    const shown = Object.entries(rest).map(([name, value]) => [name, Array.isArray(value) ? value.map(mask) : mask(name === 'etag' ? strongFileTag(String(value)) : String(value))]);
    return { status, headers: Object.fromEntries(shown), body: mask(bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')) };
  }

  async close(): Promise<void> {
    for (const side of this.#sides) await side.close();
  }
}

/** See {@link ExpressOracle.visitor}. */
export class Visitor {
  readonly #jars = new Map<string, Map<string, string>>();
  readonly #oracle: ExpressOracle;

  constructor(oracle: ExpressOracle) {
    this.#oracle = oracle;
  }

  ask(path: string, question: Question = {}): Promise<Portrait> {
    return this.#oracle.compare(async (side) => {
      const jar = this.jar(side.name);
      const cookie = [...jar].map(([key, value]) => `${key}=${value}`).join('; ');
      const headers = { ...(question.headers as Record<string, string>), ...(cookie === '' ? {} : { cookie }) };
      const answer = await this.#oracle.answerOf(side, path, { ...question, headers });
      for (const line of answer.headers['set-cookie'] ?? []) keep(jar, line);
      return this.#oracle.portrait(answer);
    });
  }

  post(path: string, body: string, type = 'application/x-www-form-urlencoded'): Promise<Portrait> {
    return this.ask(path, { method: 'POST', body, headers: { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) } });
  }

  /** The cookies of one server, by their names. */
  jar(side: string): Map<string, string> {
    let jar = this.#jars.get(side);
    if (jar === undefined) this.#jars.set(side, (jar = new Map<string, string>()));
    return jar;
  }
}

/** An answer as it comes over HTTP/2: without fields of the connection, and where nobody has set it without Content-Length, which frames tell. */
function asHttp2({ headers, ...rest }: Portrait, actual: Portrait): Portrait {
  const { 'content-length': length, ...same } = withoutConnection(headers);
  return { ...rest, headers: 'content-length' in actual.headers ? { ...same, 'content-length': length } : same };
}

function keep(jar: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
  const expires = /expires=([^;]+)/i.exec(line)?.[1];
  if (expires !== undefined && Date.parse(expires) <= Date.now()) jar.delete(name);
  else jar.set(name, value);
}

async function listen(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return server;
}
