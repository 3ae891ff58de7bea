import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Application, createServer, type CreateServerOptions, type Logger } from 'waypost';

/** A line that an application logged. */
export interface LogLine {
  level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
  fields: { err?: unknown; [name: string]: unknown };
  message: string;
}

/** A logger that keeps its lines. */
export class LogRecorder implements Logger {
  readonly lines: LogLine[] = [];
  level = 'trace';
  readonly trace = this.#at('trace');
  readonly debug = this.#at('debug');
  readonly info = this.#at('info');
  readonly warn = this.#at('warn');
  readonly error = this.#at('error');
  readonly fatal = this.#at('fatal');

  /** The messages of one level. */
  messages(level: LogLine['level']): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }

  /** Everything that was logged, as text: errors with message and stack. */
  get text(): string {
    return this.lines.map(({ fields, message }) => `${message} ${JSON.stringify(fields)} ${fields.err instanceof Error ? String(fields.err.stack) : ''}`).join('\n');
  }

  #at(level: LogLine['level']) {
    return (fields: object | string, message?: string): void => {
      this.lines.push({ level, fields: typeof fields === 'object' ? { ...fields } : {}, message: message ?? String(fields) });
    };
  }
}

/** The applications and servers of one test, to be closed after it. */
export class Running {
  readonly #apps: Application[] = [];
  readonly servers: Server[] = [];
  readonly #others: { close(): unknown }[] = [];

  /** A silent application, started once its routes are there. */
  async app(register: (app: Application) => void, options: CreateServerOptions = {}): Promise<number> {
    const app = createServer({ env: 'test', logging: { level: 'silent' }, ...options });
    register(app);
    return this.start(app);
  }

  async start(app: Application): Promise<number> {
    this.#apps.push(app);
    return portOf(await app.start(0, '127.0.0.1'));
  }

  /** Listens with a server of plain node:http. */
  serve(listener: RequestListener): Promise<number> {
    return this.listen(createHttpServer(listener));
  }

  /** Listens with a server of the test's own making. */
  async listen(server: Server): Promise<number> {
    this.servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return portOf(server);
  }

  /** Closes something else with the rest, and before it: an oracle, a client. */
  keep<T extends { close(): unknown }>(other: T): T {
    this.#others.push(other);
    return other;
  }

  async close(): Promise<void> {
    for (const other of this.#others.splice(0)) await other.close();
    for (const app of this.#apps.splice(0)) await app.close({ timeout: 0 });
    for (const server of this.servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

/** The port that a server listens on. */
export function portOf(server: { address(): AddressInfo | string | null }): number {
  return (server.address() as AddressInfo).port;
}
