import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { PEERS, SUBJECT } from '../bench/settings';

const FORMATS = ['mjs', 'cjs'] as const;

function fileOf(format: string): string {
  return resolve(__dirname, `../bench/hello/hello.${format}`);
}

describe('the smallest programs, whose start the benchmark times', () => {
  test.each(FORMATS)('hello.%s has one of every peer', (format) => {
    const names = [...readFileSync(fileOf(format), 'utf8').matchAll(/^ {2}(?:async )?(\w+)\(ready\)/gm)].map(([, name]) => name);
    expect(names.sort()).toEqual([SUBJECT, ...PEERS].sort());
  });

  test.each(FORMATS.flatMap((format) => [SUBJECT, 'node'].map((name) => [format, name])))('by hello.%s %s answers as all of them do', async (format, name) => {
    const child = spawn(process.execPath, [fileOf(format as string), name as string], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const res = await fetch(`http://127.0.0.1:${port}/`);
    expect(await res.text()).toBe('{"hello":"world"}');
    expect(res.headers.get('content-length')).toBe('17');
    child.kill();
    await ended;
  });
});
