import * as diagnosticsChannel from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { format } from 'node:util';
import ts from 'typescript';
import * as waypost from 'waypost';
import type { Exchange } from './document';

type AsyncProgram = (require: (name: string) => unknown, fetch: unknown, console: unknown) => Promise<void>;
const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (...text: string[]) => AsyncProgram;

/** A program of a document while it runs. */
export class ProgramRun {
  readonly printed: string[] = [];
  readonly #applications: waypost.Application[] = [];
  /** Channels are the process's, and outlive the program. */
  readonly #subscriptions: Parameters<typeof diagnosticsChannel.subscribe>[] = [];

  /** Runs an ES module's text, with waypost as the repository has it and every port free. */
  static async start(code: string): Promise<ProgramRun> {
    const run = new ProgramRun();
    const { outputText } = ts.transpileModule(code, {
      compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: true },
    });
    const program = new AsyncFunction('require', 'fetch', 'console', `const exports = {};\n${outputText}`);
    await program((name) => run.#module(name), run.#fetch, { log: run.#log });
    return run;
  }

  #module(name: string): unknown {
    if (name === 'node:diagnostics_channel') return { ...diagnosticsChannel, subscribe: this.#subscribe };
    if (!name.startsWith('waypost')) return jest.requireActual(name);
    const express = Object.assign((options?: waypost.CreateServerOptions) => this.#create(waypost.express, options), waypost.express);
    if (name === 'waypost/express') return express;
    return { ...waypost, createServer: (options?: waypost.CreateServerOptions) => this.#create(waypost.createServer, options), express };
  }

  #create(make: typeof waypost.createServer, options: waypost.CreateServerOptions | undefined): waypost.Application {
    // What the built-in logger writes is nobody's to read here.
    const { logging } = options ?? {};
    const app = make({ ...options, logging: logging && logging.logger !== undefined ? logging : { ...logging, level: 'silent' } });
    this.#applications.push(app);
    return app;
  }

  readonly #subscribe = (...subscription: Parameters<typeof diagnosticsChannel.subscribe>): void => {
    this.#subscriptions.push(subscription);
    diagnosticsChannel.subscribe(...subscription);
  };

  readonly #log = (...values: unknown[]): void => {
    // Of a port that was free a document shows the default.
    this.printed.push(...format(...values).replaceAll(/(?<=localhost:)\d+/g, '3000').split('\n'));
  };

  readonly #fetch = (url: string, init?: RequestInit): Promise<unknown> => fetch(url.replace('localhost:3000', `127.0.0.1:${this.#port()}`), init);

  #server(): waypost.NodeServer {
    const server = this.#applications.map((app) => app.server).find((one) => one !== null);
    if (server === undefined || server === null) throw new Error('the program has not started an application');
    return server;
  }

  #port(): number {
    return (this.#server().address() as AddressInfo).port;
  }

  /** Sends the request of an exchange; answers what came back. */
  async send(exchange: Exchange): Promise<{ status: number | undefined; headers: IncomingMessage['headers']; body: string }> {
    const { method, target: path, body } = exchange;
    const headers: Record<string, string> = { Connection: 'close' };
    if (body !== undefined) headers['Content-Length'] = String(Buffer.byteLength(body));
    if (body !== undefined && /^[[{]/.test(body)) headers['Content-Type'] = 'application/json';
    for (const [name, value] of exchange.headers) headers[name] = value;
    const options = { host: '127.0.0.1', port: this.#port(), method, path, headers };
    const request = this.#server() instanceof HttpsServer ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString('utf8') };
  }

  /** Stops every application that the program started. */
  async stop(): Promise<void> {
    for (const app of this.#applications) await app.close({ timeout: 0 });
    for (const subscription of this.#subscriptions) diagnosticsChannel.unsubscribe(...subscription);
  }
}
