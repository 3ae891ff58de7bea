/** The Flesch reading ease of each page that is named, as JSON: a process of its own, since jest loads no ES modules. */
import { flesch } from 'flesch';
import { readFileSync } from 'node:fs';
import { syllable } from 'syllable';

/** The sentences of a page, as words: without code, tables, headings and the targets of links. A paragraph or an item of a list ends one. */
function sentencesOf(markdown) {
  const prose = markdown
    .replace(/^ *```[^]*?^ *```$/gm, '')
    .replace(/<!--[^]*?-->|^ *\|.*$|^#+ .*$/gm, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`[^`\n]*`/g, '');
  return prose.split(/[.!?](?=\s|$)|\n\s*\n|\n *(?=[-*] |\d+\. )/)
    .map((text) => text.match(/[A-Za-z][A-Za-z'’-]*/g) ?? [])
    .filter((words) => words.length > 0);
}

const scores = process.argv.slice(2).map((file) => {
  const sentences = sentencesOf(readFileSync(file, 'utf8'));
  const words = sentences.flat();
  return [file, flesch({ sentence: sentences.length, word: words.length, syllable: words.reduce((sum, word) => sum + syllable(word), 0) })];
});
console.log(JSON.stringify(scores));
