import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type RequestOptions, type Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { strongFileTag } from './file-tag';
import { KnownFiles } from '../../lib/http/file/known-files';
import { Response } from '../../lib/http/response';
import { kFail, kSettings, type ResponseSettings } from '../../lib/http/response-state';

/** A response as it came over the wire. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** What both Express and waypost give a handler, as far as the two share it. */
export type Handler = (req: IncomingMessage, res: Response) => unknown;

/** A line that a response logged. */
export interface LogLine {
  level: 'error' | 'info' | 'warn';
  fields: { err?: Error };
  message: string;
}

/** A server whose handler can be changed between requests. */
export class ResponseServer {
  handler: Handler = (_req, res) => res.end();
  readonly log: LogLine[] = [];
  readonly #server: Server;

  private constructor(listen: (server: ResponseServer) => Server) {
    this.#server = listen(this);
  }

  /** A bare node:http server that makes waypost's responses. */
  static async waypost(settings: Partial<ResponseSettings> = {}): Promise<ResponseServer> {
    return new ResponseServer((self) => {
      class Configured extends Response {}
      Object.defineProperty(Configured.prototype, kSettings, { value: { ...Response.prototype[kSettings], files: new KnownFiles(), logger: self.#logger(), ...settings } });
      return createServer({ ServerResponse: Configured }, (req, res) => self.#run(req, res)) as unknown as Server;
    }).#listen();
  }

  /** The same with Node's own responses, adopted by their prototype. */
  static async adopted(): Promise<ResponseServer> {
    return new ResponseServer((self) =>
      createServer((req, res: ServerResponse) => self.#run(req, Object.setPrototypeOf(res, Response.prototype) as Response)),
    ).#listen();
  }

  /** An Express application: the oracle. */
  static async express(etag: boolean): Promise<ResponseServer> {
    return new ResponseServer((self) => {
      const app = express();
      app.disable('x-powered-by').set('etag', etag ? 'weak' : false).set('env', 'test');
      app.use((req, res) => self.handler(req, res as unknown as Response));
      return createServer(app);
    }).#listen();
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Sends one request on a connection of its own. */
  ask(options: RequestOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: this.port, agent: false, path: '/', ...options }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString('latin1') }));
      });
      sent.on('error', reject);
      sent.end();
    });
  }

  /** Sets the handler and sends one request. */
  answer(handler: Handler, options?: RequestOptions): Promise<Answer> {
    this.handler = handler;
    return this.ask(options);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #run(req: IncomingMessage, res: Response): void {
    const { searchParams } = new URL(req.url ?? '/', 'http://localhost');
    Object.assign(req, { query: Object.fromEntries(searchParams) });
    // As an application gives them.
    res.locals = Object.create(null) as Record<string, unknown>;
    try {
      this.handler(req, res);
    } catch (error) {
      res[kFail](error);
    }
  }

  #logger(): ResponseSettings['logger'] {
    const at = (level: LogLine['level']) => (fields: object | string, message?: string) => {
      this.log.push({ level, fields: typeof fields === 'object' ? fields : {}, message: message ?? String(fields) });
    };
    return { error: at('error'), info: at('info'), warn: at('warn') };
  }

  #listen(): Promise<this> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', () => resolve(this)));
  }
}

/** Two servers, and the question whether they answer alike. */
export class Parity {
  private constructor(
    readonly ours: ResponseServer,
    readonly express: ResponseServer,
  ) {}

  static async start(settings: Partial<ResponseSettings> = {}): Promise<Parity> {
    return new Parity(await ResponseServer.waypost(settings), await ResponseServer.express(settings.etag !== undefined));
  }

  /** Puts the same request to both; answers with what each sent, less the date. */
  async both(handler: Handler, options?: RequestOptions): Promise<{ ours: Answer; express: Answer }> {
    const ours = await this.ours.answer(handler, options);
    const theirs = await this.express.answer(handler, options);
    delete ours.headers.date;
    delete theirs.headers.date;
    if (theirs.headers.etag !== undefined) theirs.headers.etag = strongFileTag(theirs.headers.etag);
    return { ours, express: theirs };
  }

  async close(): Promise<void> {
    await this.ours.close();
    await this.express.close();
  }
}
