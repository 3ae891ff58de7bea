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
  readonly status: number;
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
