import { readFileSync } from 'node:fs';

/** Lets the page's own files in, and nothing else: no script or style that stands in the page itself, no frame around it. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The form and the answer, which the page's script puts into the route that is chosen. */
const WORKBENCH = readFileSync(new URL('console/workbench.html', import.meta.url), 'utf8');

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escape(text) {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]);
}

/**
 * The origin that the reader's own requests went to. A Host that is none is
 * not repeated: what stands on the page is meant to be pasted into a shell.
 */
export function originOf(req) {
  const host = req.headers.host ?? '';
  const valid = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.test(host);
  return `${req.protocol}://${valid ? host : `localhost:${req.socket.localPort}`}`;
}

/**
 * The start page: every route of the application with what it does and how to
 * call it. It can be read without its script, which makes a console of it.
 * @param routes What `app.routes()` returns, each with `signed`, whether it asks for a signature, and `schema`, whether it has schemas.
 * @param secret The secret that the page may show; undefined for one that only the server knows.
 */
export function startPage({ routes, examples, origin, secret }) {
  const areas = new Map();
  for (const route of routes) {
    const area = route.path.split('/')[1];
    if (!areas.has(area)) areas.set(area, []);
    areas.get(area).push({ ...route, id: `${route.method}${route.path}`, ...examples[`${route.method} ${route.path}`] });
  }
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>waypost demo</title>
<link rel="icon" href="/console/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/console/console.css">
<script type="module" src="/console/console.mjs" blocking="render"></script>
</head>
<body${secret === undefined ? '' : ` data-secret="${escape(secret)}"`}>
<a class="skip" href="#routes">Skip to the route</a>
<header>
<img src="/console/icon.svg" alt="" width="40" height="40">
<div>
<h1>waypost demo</h1>
<p>All routes of this server, each with a form to try it and commands to paste into a shell.</p>
</div>
</header>
<nav aria-label="Routes">
<details open>
<summary>Routes</summary>
<ul>
${[...areas].map(([name, listed]) => renderBranch(name, listed)).join('\n')}
</ul>
</details>
</nav>
<main id="routes" tabindex="-1">
${[...areas].map(([name, listed]) => renderArea(name, listed, origin)).join('\n')}
<template>
${WORKBENCH}</template>
</main>
<footer>
<p>Run the commands in the repository’s directory: those for signed routes call a script there. If you started the server with DEMO_SECRET, set it for the scripts too.</p>
<p>The secret of this demo is public and protects nothing. Keep your own secrets out of browsers: everyone who can read the page can read them.</p>
</footer>
</body>
</html>
`;
}

function renderBranch(name, routes) {
  return `<li><span class="mount">/${escape(name)}</span>
<ul>
${routes.map((route) => `<li><a href="#${escape(route.id)}">${renderMethod(route)} <code>${renderPath(name, route.path)}</code>${renderMarks(route)}</a></li>`).join('\n')}
</ul></li>`;
}

/** The path, of which only what follows the mount is shown: the branch is named after the rest. */
function renderPath(area, path) {
  const mount = `/${area}`;
  return path === mount ? escape(path) : `<span class="mounted">${escape(mount)}</span>${escape(path.slice(mount.length)).replaceAll('/', '<wbr>/')}`;
}

function renderArea(name, routes, origin) {
  const id = name === '' ? 'start' : name;
  return `<section id="${escape(id)}" aria-labelledby="${escape(id)}-heading">
<h2 id="${escape(id)}-heading">/${escape(name)}</h2>
${routes.map((route) => renderRoute(route, origin)).join('\n')}
</section>`;
}

function renderRoute({ id, method, path, signed, schema, events = false, live = false, about, lines = [] }, origin) {
  return `<article id="${escape(id)}" data-method="${method}" data-path="${escape(path)}"${signed ? ' data-signed' : ''}${live ? ' data-live' : ''}>
<h3 tabindex="-1">${renderMethod({ method })} <code>${escape(path)}</code>${renderMarks({ signed, schema, events })}</h3>
${about === undefined ? '' : `<p>${escape(about)}</p>`}
<div class="lines">
<h4>In a shell</h4>
<ul>
${lines.map((line) => renderLine(line, origin)).join('\n')}
</ul>
</div>
</article>`;
}

function renderMethod({ method }) {
  return `<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** What a route has beside its path. */
function renderMarks(route) {
  return ['signed', 'schema', 'events'].filter((mark) => route[mark]).map((mark) => ` <span class="mark ${mark}">${mark}</span>`).join('');
}

function renderLine({ status, text, about }, origin) {
  const note = about === undefined ? '' : `${escape(about)} `;
  return `<li><p>${note}Response: <data class="status" value="${status}">${status}</data></p>
<pre tabindex="0"><code>${escape(text.replaceAll('{origin}', origin))}</code></pre></li>`;
}
