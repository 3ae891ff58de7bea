// The few pages there are, as functions.
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escapeHtml(text) {
  return String(text).replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

/** A whole page; the content is HTML already. */
export function page(title, content) {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(title)}</title><link rel="stylesheet" href="/public/style.css"></head>
<body><h1>${escapeHtml(title)}</h1>${content}</body>
</html>
`;
}

export function notesPage(title, notes) {
  const items = notes.map(({ id, text }) => `<li><a href="/notes/${id}">${escapeHtml(text)}</a></li>`);
  return page(title, `<ul>${items.join('')}</ul>`);
}
