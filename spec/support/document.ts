import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** Root of the repository. */
export const ROOT = resolve(__dirname, '../..');

/** A fenced block of a document. */
export interface Fence {
  readonly language: string;
  readonly text: string;
  /** Line of the opening fence, counted from 1. */
  readonly line: number;
}

/** A program in a document, with what is said to come of it. */
export interface Example {
  readonly name: string;
  readonly language: 'js' | 'ts';
  readonly code: string;
  readonly exchanges: readonly Exchange[];
  /** What it prints, line by line. */
  readonly printed: readonly string[];
}

/** One request and what is said to be answered. */
export interface Exchange {
  readonly text: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | undefined;
  /** Undefined where a curl line shows the body alone. */
  readonly status: number | undefined;
  readonly answerHeaders: readonly (readonly [string, string])[];
  readonly answerBody: string | undefined;
}

/** A file of the repository, by its path from the root. */
export function read(path: string): string {
  return readFileSync(resolve(ROOT, path), 'utf8');
}

/** All fenced blocks of a Markdown text, those indented in a list included. */
export function fences(markdown: string): Fence[] {
  const found: Fence[] = [];
  const lines = markdown.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const open = /^( *)```(\w*)$/.exec(lines[i] ?? '');
    if (open === null) continue;
    const [, indent = '', language = ''] = open;
    const start = i++;
    while (i < lines.length && lines[i] !== `${indent}\`\`\``) i++;
    const text = lines.slice(start + 1, i).map((line) => line.slice(indent.length)).join('\n');
    found.push({ language, text, line: start + 1 });
  }
  return found;
}

/** The programs of a document; the block behind each holds its exchanges and what it prints. */
export function examples(markdown: string): Example[] {
  const all = fences(markdown);
  return all.flatMap((fence, index): Example[] => {
    const { language, text: code, line } = fence;
    if (language !== 'js' && language !== 'ts') return [];
    const next = all[index + 1];
    if (next?.language === 'console') return [{ name: `line ${line}`, language, code, exchanges: curlExchanges(next.text), printed: [] }];
    const lines = next?.language === 'text' ? next.text.split('\n') : [];
    const exchanges = lines.filter((one) => one.includes(' → ')).map(parseExchange);
    return [{ name: `line ${line}`, language, code, exchanges, printed: lines.filter((one) => !one.includes(' → ')) }];
  });
}

const HEADERS = String.raw`((?: \[[\w-]+: [^\]]*\])*)`;
const EXCHANGE = new RegExp(`^([A-Z]+) (\\S+)${HEADERS}(?: (.+?))? → (\\d{3})${HEADERS}(?: (.+))?$`);

function parseExchange(text: string): Exchange {
  const match = EXCHANGE.exec(text);
  if (match === null) throw new Error(`not an exchange: ${text}`);
  const [, method = '', target = '', headers = '', body, status, answerHeaders = '', answerBody] = match;
  return { text, method, target, headers: parseHeaders(headers), body, status: Number(status), answerHeaders: parseHeaders(answerHeaders), answerBody };
}

/** The requests of a block of curl lines, each with what comes back beneath it. */
export function curlExchanges(text: string): Exchange[] {
  return text.split(/^\$ /m).slice(1).map((each) => {
    const [command = '', ...answer] = each.trimEnd().split('\n');
    return parseCurl(command, answer);
  });
}

const CURL_WORD = /'([^']*)'|(\S+)/g;

/** Reads `curl [-i] [-X METHOD] [-H 'Name: value'] [--json TEXT] URL`, as far as documents use it. */
function parseCurl(command: string, answer: readonly string[]): Exchange {
  const [program, ...words] = [...command.matchAll(CURL_WORD)].map(([, quoted, bareWord]) => quoted ?? bareWord ?? '');
  if (program !== 'curl') throw new Error(`not a curl line: ${command}`);
  const headers: [string, string][] = [];
  let method = 'GET', target = '', body: string | undefined, isHeadShown = false;
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '-i') isHeadShown = true;
    else if (word === '-X') method = words.shift() ?? '';
    else if (word === '-H') headers.push(headerOf(words.shift() ?? ''));
    else if (word === '--json') [method, body] = ['POST', words.shift() ?? ''];
    else if (word.startsWith('localhost:3000')) target = word.slice('localhost:3000'.length) || '/';
    else throw new Error(`not known of curl: ${word} in ${command}`);
  }
  const end = isHeadShown ? answer.indexOf('') : -1;
  const [first = '', ...fields] = isHeadShown ? answer.slice(0, end === -1 ? undefined : end) : [''];
  const status = isHeadShown ? Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]) : undefined;
  const rest = isHeadShown && end === -1 ? [] : answer.slice(end + 1);
  return { text: command, method, target, headers, body, status, answerHeaders: fields.map(headerOf), answerBody: rest.length === 0 ? undefined : rest.join('\n') };
}

function headerOf(line: string): [string, string] {
  const at = line.indexOf(':');
  return [line.slice(0, at), line.slice(at + 1).trim()];
}

function parseHeaders(text: string): [string, string][] {
  return [...text.matchAll(/\[([\w-]+): ([^\]]*)\]/g)].map(([, name = '', value = '']) => [name, value]);
}

/** The cells of the table that follows each `<!-- table: name -->`, without the head. */
export function table(markdown: string, name: string): string[][] {
  const [, after] = markdown.split(`<!-- table: ${name} -->\n`);
  if (after === undefined) throw new Error(`there is no table ${name}`);
  const lines = after.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(2, end).map((line) => line.slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|')));
}

/** A cell without the marks of code. */
export function bare(cell: string | undefined): string {
  return (cell ?? '').replaceAll('`', '');
}
