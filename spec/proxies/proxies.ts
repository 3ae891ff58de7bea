import { join } from 'node:path';
import { fences, read, ROOT } from '../support/document';
import type { ProxyProgram } from '../support/proxy-process';

/** A block of a page, with the ports of this run. */
function block(page: string, language: string, port: number, origin: number, part: string | RegExp = /(?:)/): string {
  const found = fences(read(`docs/${page}`)).find((fence) => fence.language === language && fence.text.search(part) !== -1);
  if (found === undefined) throw new Error(`docs/${page} shows no ${language} with ${String(part)}`);
  return found.text
    .replaceAll(/\b300[12]\b/g, String(origin))
    .replaceAll(/\blisten 80;/g, `listen 127.0.0.1:${port};`)
    .replaceAll(/(?<=bind |VirtualHost )(?:\*)?:80\b/g, `127.0.0.1:${port}`)
    .replaceAll(/\b80\b/g, String(port));
}

const MODULES = ['mpm_event', 'authz_core', 'proxy', 'proxy_http'].map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`);

function nginx(shown: (port: number) => string): ProxyProgram {
  return {
    command: 'nginx',
    args: (folder) => ['-p', folder, '-e', 'error.log', '-c', 'configuration'],
    configuration: (folder, port) => [
      'daemon off;', 'worker_processes 1;', 'pid nginx.pid;', 'events {}', 'http {', 'access_log off;',
      ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`), shown(port), '}', '',
    ].join('\n'),
  };
}

function apache(shown: (port: number) => string): ProxyProgram {
  return {
    command: 'apache2',
    args: (folder) => ['-D', 'FOREGROUND', '-f', join(folder, 'configuration')],
    configuration: (folder, port) => [
      ...MODULES, `ServerRoot ${folder}`, `DefaultRuntimeDir ${folder}`, 'PidFile pid', 'ErrorLog /dev/null', 'ServerName localhost', `Listen 127.0.0.1:${port}`, 'User nobody', 'Group nogroup', shown(port), '',
    ].join('\n'),
  };
}

function haproxy(shown: (port: number) => string): ProxyProgram {
  return { command: 'haproxy', args: (folder) => ['-db', '-q', '-f', join(folder, 'configuration')], configuration: (_folder, port) => `${shown(port)}\n` };
}

/** @param packages Folder whose node_modules holds its packages. */
function node(part: string, origin: number, packages: string): ProxyProgram {
  return {
    command: process.execPath,
    args: (folder) => [join(folder, 'proxy.mjs')],
    configuration: (_folder, port) => `${block('proxies.md', 'javascript', port, origin, part)}\n`,
    file: 'proxy.mjs',
    packages,
  };
}

/** The proxies of docs/proxies.md before a server, by the settings shown there. */
export const PROXIES: Readonly<Record<string, (origin: number) => ProxyProgram>> = {
  nginx: (origin) => nginx((port) => block('production.md', 'nginx', port, origin)),
  Apache: (origin) => apache((port) => block('proxies.md', 'apache', port, origin)),
  HAProxy: (origin) => haproxy((port) => block('proxies.md', 'haproxy', port, origin)),
  Varnish: (origin) => ({
    command: 'varnishd',
    packageName: 'varnish',
    args: (folder, port) => ['-F', '-j', 'none', '-T', 'none', '-n', join(folder, 'work'), '-a', `127.0.0.1:${port}`, '-s', 'malloc,32m', '-f', join(folder, 'configuration')],
    configuration: (_folder, port) => `${block('proxies.md', 'vcl', port, origin)}\n`,
  }),
  Squid: (origin) => ({
    command: 'squid',
    args: (folder) => ['-N', '-f', join(folder, 'configuration')],
    configuration: (folder, port) => [
      block('proxies.md', 'squid', port, origin), `pid_filename ${folder}/pid`, `cache_log ${folder}/log`, `coredump_dir ${folder}`, 'access_log none', 'pinger_enable off', 'netdb_filename none', 'shutdown_lifetime 0 seconds', '',
    ].join('\n'),
  }),
  Caddy: (origin) => ({
    command: 'caddy',
    args: (folder) => ['run', '--adapter', 'caddyfile', '--config', join(folder, 'configuration')],
    configuration: (folder, port) => `{\n    admin off\n    storage file_system ${folder}\n}\n${block('proxies.md', 'caddy', port, origin)}\n`,
  }),
  lighttpd: (origin) => ({
    command: 'lighttpd',
    args: (folder) => ['-D', '-f', join(folder, 'configuration')],
    configuration: (_folder, port) => `server.bind = "127.0.0.1"\n${block('proxies.md', 'lighttpd', port, origin)}\n`,
  }),
  'http-proxy-middleware': (origin) => node('http-proxy-middleware', origin, ROOT),
  '@fastify/http-proxy': (origin) => node('@fastify/http-proxy', origin, join(ROOT, 'spec/proxies')),
};

/** Those that the page shows with a prefix. */
export const STRIPPING: typeof PROXIES = {
  nginx: (origin) => nginx((port) => block('proxies.md', 'nginx', port, origin)),
  Apache: (origin) => apache((port) => block('proxies.md', 'apache', port, origin).replace(/ProxyPass .*/, block('proxies.md', 'apache', port, origin, /^ProxyPass/))),
  HAProxy: (origin) => haproxy((port) => block('proxies.md', 'haproxy', port, origin).replace('frontend web\n', `frontend web\n    ${block('proxies.md', 'haproxy', port, origin, /^http-request/)}\n`)),
};
