import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fences, read } from '../support/document';

/** A real nginx of its own, with the configuration that docs/production.md shows. */
export class Nginx {
  readonly port: number;
  readonly #upstreams: readonly number[];
  readonly #folder = mkdtempSync(join(tmpdir(), 'waypost-nginx-'));
  #child: ChildProcess | null = null;

  private constructor(port: number, upstreams: readonly number[]) {
    this.port = port;
    this.#upstreams = upstreams;
  }

  /** @throws Error that says so where nginx is not installed. */
  static async start(port: number, upstreams: readonly number[]): Promise<Nginx> {
    const nginx = new Nginx(port, upstreams);
    // Its workers run as another user.
    chmodSync(nginx.#folder, 0o755);
    nginx.#write(undefined);
    const child = spawn('nginx', ['-p', nginx.#folder, '-e', 'error.log', '-c', 'nginx.conf'], { stdio: ['ignore', 'ignore', 'pipe'] });
    nginx.#child = child;
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const failed = new Promise<never>((_, reject) => {
      child.once('error', () => reject(new Error('nginx is missing: install it, as by "apt-get install nginx"')));
      child.once('exit', (code) => reject(new Error(`nginx has ended with ${String(code)}: ${said}${nginx.errors}`)));
    });
    failed.catch(() => undefined);
    await Promise.race([nginx.#isUp(), failed]);
    return nginx;
  }

  /** What it has complained of. */
  get errors(): string {
    return readFileSync(join(this.#folder, 'error.log'), { encoding: 'utf8', flag: 'a+' });
  }

  /** Has it send nothing more to one of the processes, or to all again; resolves when the workers with the old configuration take no new request. */
  async reload(down: number | undefined): Promise<void> {
    this.#write(down);
    this.#child?.kill('SIGHUP');
    await delay(1000);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child !== null && child.exitCode === null && child.pid !== undefined) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #write(down: number | undefined): void {
    const shown = fences(read('docs/production.md')).find(({ language }) => language === 'nginx')?.text ?? '';
    const servers = this.#upstreams.map((port) => `server 127.0.0.1:${port} max_fails=0${port === down ? ' down' : ''};`);
    const site = shown.replace(/( +server 127\.0\.0\.1:\d+ max_fails=0;\n)+/, `${servers.join('\n')}\n`).replace('listen 80;', `listen 127.0.0.1:${this.port};`);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${this.#folder}/${name};`);
    writeFileSync(join(this.#folder, 'nginx.conf'), `daemon off;\nworker_processes 2;\npid nginx.pid;\nevents { worker_connections 1024; }\nhttp {\naccess_log off;\n${paths.join('\n')}\n${site}\n}\n`);
  }

  async #isUp(): Promise<void> {
    for (;;) {
      const socket = connect({ port: this.port, host: '127.0.0.1' });
      const isOpen = await once(socket, 'connect').then(() => true, () => false);
      socket.destroy();
      if (isOpen) return;
      await delay(20);
    }
  }
}
