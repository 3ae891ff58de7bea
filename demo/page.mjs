import { createHash } from 'node:crypto';

const STYLE = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid; }
h3 { margin: 1.5rem 0 0; font-size: 1rem; }
pre { margin: .25rem 0; padding: .5rem; overflow-x: auto; border: 1px solid; border-radius: .25rem; }
p { margin: .5rem 0 0; }
`;

/** Lets the page's own style in, and nothing else. */
export const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

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

/** The start page: every route of the application with what it does and how to call it. */
export function startPage(routes, examples, origin) {
  const areas = new Map();
  for (const route of routes) {
    const [, area] = route.path.split('/');
    if (!areas.has(area)) areas.set(area, []);
    areas.get(area).push(renderRoute(route, examples[`${route.method} ${route.path}`], origin));
  }
  const names = [...areas.keys()].filter((name) => name !== '');
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>waypost demo</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>waypost demo</h1>
<p>Every route of this server, with lines to paste into a shell. Run them in the repository’s directory: the signed ones call a script there. (Where the server was given a secret in DEMO_SECRET, give the scripts the same.)</p>
<nav aria-label="Areas"><ul>
${names.map((name) => `<li><a href="#${escape(name)}">${escape(name)}</a></li>`).join('\n')}
</ul></nav>
</header>
<main>
${[...areas].map(([name, rendered]) => renderArea(name, rendered)).join('\n')}
</main>
</body>
</html>
`;
}

function renderArea(name, routes) {
  const id = name === '' ? 'start' : name;
  return `<section id="${escape(id)}" aria-labelledby="${escape(id)}-heading">
<h2 id="${escape(id)}-heading">${escape(id)}</h2>
${routes.join('\n')}
</section>`;
}

function renderRoute({ method, path }, example, origin) {
  return `<h3><code>${escape(`${method} ${path}`)}</code></h3>
${example === undefined ? '' : `<p>${escape(example.about)}</p>\n${example.lines.map((line) => renderLine(line, origin)).join('\n')}`}`;
}

function renderLine({ status, text, about }, origin) {
  const note = about === undefined ? '' : `${escape(about)} `;
  return `<p>${note}Answers <data value="${status}">${status}</data>.</p>
<pre tabindex="0"><code>${escape(text.replaceAll('{origin}', origin))}</code></pre>`;
}
