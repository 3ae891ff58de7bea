const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")(\s*:)?|([[\]{},])|([^\s[\]{},:"]+))/y;

/**
 * JSON text as nodes, indented and coloured. It is not parsed, so that every
 * digit stays as it was sent; from where it is no JSON it stays as it is.
 */
export function renderJson(text) {
  const fragment = document.createDocumentFragment();
  let depth = 0;
  let previous = '';
  let end = 0;
  for (;;) {
    TOKEN.lastIndex = end;
    const found = TOKEN.exec(text);
    if (found === null) break;
    end = TOKEN.lastIndex;
    const [, quoted, colon, mark = '', literal] = found;
    const closes = mark === '}' || mark === ']';
    const opened = previous === '{' || previous === '[';
    if (closes) depth--;
    // Nothing stands between the brackets of what is empty.
    if (previous === ',' || opened !== closes) fragment.append(`\n${'  '.repeat(Math.max(depth, 0))}`);
    if (quoted !== undefined) fragment.append(coloured(colon === undefined ? 'string' : 'key', quoted), colon === undefined ? '' : ': ');
    else fragment.append(literal === undefined ? mark : coloured('literal', literal));
    if (mark === '{' || mark === '[') depth++;
    previous = mark;
  }
  fragment.append(text.slice(end));
  return fragment;
}

function coloured(kind, text) {
  return Object.assign(document.createElement('span'), { className: kind, textContent: text });
}
