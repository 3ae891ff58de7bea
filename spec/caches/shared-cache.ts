import { join } from 'node:path';
import { ProxyProcess, type ProxyProgram } from '../support/proxy-process';

export type CacheName = keyof typeof CACHES;

/** Shared caches before a server: configured as by a first guide of each, with nothing about what is stored. */
const CACHES = {
  varnish: (origin) => ({
    command: 'varnishd',
    packageName: 'varnish',
    args: (folder, port) => ['-F', '-j', 'none', '-T', 'none', '-n', join(folder, 'work'), '-a', `127.0.0.1:${port}`, '-s', 'malloc,32m', '-f', join(folder, 'configuration')],
    configuration: () => `vcl 4.1;\nbackend default { .host = "127.0.0.1"; .port = "${origin}"; }\n`,
  }),
  squid: (origin) => ({
    command: 'squid',
    args: (folder) => ['-N', '-f', join(folder, 'configuration')],
    configuration: (folder, port) => [
      `http_port 127.0.0.1:${port} accel defaultsite=localhost no-vhost`, `cache_peer 127.0.0.1 parent ${origin} 0 no-query originserver`, 'http_access allow all',
      'cache_mem 32 MB', `pid_filename ${folder}/pid`, `cache_log ${folder}/log`, `coredump_dir ${folder}`, 'access_log none', 'pinger_enable off', 'netdb_filename none', 'shutdown_lifetime 0 seconds', '',
    ].join('\n'),
  }),
} satisfies Record<string, (origin: number) => ProxyProgram>;

export const CACHE_NAMES = Object.keys(CACHES) as CacheName[];

/** A real shared cache of its own before a server. */
export function startCache(name: CacheName, origin: number): Promise<ProxyProcess> {
  return ProxyProcess.start(CACHES[name](origin));
}
