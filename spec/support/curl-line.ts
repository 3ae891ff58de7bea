import { spawnSync } from 'node:child_process';
import { ENVIRONMENT, ROOT } from './child-program';
import { Answer, ask } from './wire';

/** What a tool needs to be there for. */
const SCRIPTS: Readonly<Record<string, readonly string[]>> = { sh: ['sh', 'openssl'], python3: ['python3'], node: [] };

const found = new Map<string, boolean>();

/** Whether a tool is installed. */
export function isInstalled(tool: string): boolean {
  let installed = found.get(tool);
  if (installed === undefined) {
    const args = tool === 'openssl' ? ['version'] : tool === 'sh' ? ['-c', 'exit 0'] : ['--version'];
    installed = spawnSync(tool, args, { env: ENVIRONMENT }).status === 0;
    found.set(tool, installed);
  }
  return installed;
}

/** Runs a line in a shell, exactly as it stands, if all that it calls is installed; else as {@link runInNode} does. */
export async function runLine(line: string): Promise<Answer> {
  const [first = ''] = words(line)[0] ?? [];
  if (!['bash', 'curl', ...(SCRIPTS[first] ?? [])].every(isInstalled)) return runInNode(line);
  const { status, stdout, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', line], { cwd: ROOT, env: ENVIRONMENT });
  if (status !== 0) throw new Error(`${line} ended with ${status}: ${stderr.toString()}`);
  return readAnswer(stdout);
}

/** Reads what `curl -i` prints; answers under way (1xx) are not the answer. */
function readAnswer(printed: Buffer): Answer {
  const end = printed.indexOf('\r\n\r\n');
  const [start = '', ...fields] = printed.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(start)?.[1]);
  if (status < 200) return readAnswer(printed.subarray(end + 4));
  const headers = Object.fromEntries(fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]));
  return new Answer(status, headers, printed.subarray(end + 4));
}

/**
 * Does what a line would do, with nothing but Node: a curl command, alone or
 * after a pipe. A signing script in another language gives way to the one in
 * JavaScript. Whatever it does not know, it refuses.
 */
export async function runInNode(line: string): Promise<Answer> {
  const commands = words(line);
  const curl = commands.pop() ?? [];
  if (curl[0] !== 'curl' || commands.length > 1) throw new Error(`not a curl line: ${line}`);
  const request = new CurlRequest(commands[0] === undefined ? '' : runScript(commands[0]));
  request.read(curl.slice(1));
  return request.send();
}

function runScript(command: readonly string[]): string {
  const [, script = '', ...rest] = command;
  const args = script.startsWith('demo/sign.') ? ['demo/sign.mjs', ...rest] : [script, ...rest];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env: ENVIRONMENT });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr.toString()}`);
  return stdout.toString();
}

/** The commands of a line, each as its words. Bare words, single quotes and pipes are all that it may hold. */
export function words(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [token, quoted] of tokens(line)) {
    if (token === '|' && !quoted) commands.push([]);
    else commands[commands.length - 1]?.push(token);
  }
  return commands;
}

function* tokens(line: string): Generator<[string, boolean]> {
  const token = /\s*(?:'([^']*)'(?=\s|$)|(\||[\w./:@%+=-]+)(?=\s|$))/y;
  while (token.lastIndex < line.length) {
    const at = token.lastIndex;
    const [, quoted, bare] = token.exec(line) ?? [];
    if (quoted === undefined && bare === undefined) throw new Error(`cannot read ${JSON.stringify(line.slice(at))} in ${line}`);
    yield [quoted ?? bare ?? '', quoted !== undefined];
  }
}

/** The options of one curl command. */
class CurlRequest {
  readonly #input: string;
  readonly #headers: Record<string, string> = { accept: '*/*' };
  #method: string | undefined;
  #body: string | undefined;
  #url = '';
  #asIs = false;
  #dropsBody = false;

  constructor(input: string) {
    this.#input = input;
  }

  read(args: readonly string[]): void {
    const rest = [...args];
    const value = (): string => rest.shift() ?? '';
    const options: Record<string, () => void> = {
      '-i': () => undefined,
      '-s': () => undefined,
      '-N': () => undefined,
      '-I': () => (this.#method = 'HEAD'),
      '-X': () => (this.#method = value()),
      '-H': () => this.#addHeaders(value()),
      '-d': () => this.#setBody(value()),
      '--data-binary': () => this.#setBody(value()),
      '-r': () => this.#addHeaders(`Range: bytes=${value()}`),
      '-b': () => this.#addHeaders(`Cookie: ${value()}`),
      '-D': () => value(),
      '-o': () => (this.#dropsBody = value() !== ''),
      '--path-as-is': () => (this.#asIs = true),
    };
    while (rest.length > 0) {
      const arg = value();
      const option = options[arg];
      if (option !== undefined) option();
      else if (arg.startsWith('http://')) this.#url = arg;
      else throw new Error(`unknown argument of curl: ${arg}`);
    }
  }

  #addHeaders(given: string): void {
    for (const field of given === '@-' ? this.#input.trim().split(/\r?\n/) : [given]) {
      const colon = field.indexOf(':');
      this.#headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim();
    }
  }

  #setBody(given: string): void {
    this.#body = given === '@-' ? this.#input : given;
    this.#headers['content-type'] ??= 'application/x-www-form-urlencoded';
    this.#headers['content-length'] = String(Buffer.byteLength(this.#body));
  }

  async send(): Promise<Answer> {
    const { port, host, pathname, search } = new URL(this.#url);
    const target = this.#asIs ? this.#url.slice(this.#url.indexOf(host) + host.length) : pathname + search;
    const method = this.#method ?? (this.#body === undefined ? 'GET' : 'POST');
    const answer = await ask(Number(port), target, { method, headers: { host, ...this.#headers }, body: this.#body });
    return this.#dropsBody ? new Answer(answer.status, answer.headers, Buffer.alloc(0)) : answer;
  }
}
