/** Counts the elements of a JSON array, or the members of an object, as its text comes in. */
export class ElementCounter {
  /** How many are complete. */
  count = 0;
  /** The text of the newest that is complete. */
  newest = '';
  #depth = 0;
  #quoted = false;
  #escaped = false;
  #pending = '';

  push(text) {
    let start = 0;
    for (let index = 0; index < text.length; index++) {
      const character = text[index];
      if (this.#quoted) {
        if (this.#escaped) this.#escaped = false;
        else if (character === '\\') this.#escaped = true;
        else if (character === '"') this.#quoted = false;
        continue;
      }
      if (character === '"') this.#quoted = true;
      else if (character === '[' || character === '{') {
        if (++this.#depth === 1) start = index + 1;
      } else if (character === ']' || character === '}' || (character === ',' && this.#depth === 1)) {
        if (this.#depth === 1) {
          this.#complete(text.slice(start, index));
          start = index + 1;
        }
        if (character !== ',') this.#depth--;
      }
    }
    if (this.#depth > 0) this.#pending += text.slice(start);
  }

  #complete(rest) {
    const element = (this.#pending + rest).trim();
    this.#pending = '';
    if (element === '') return;
    this.count++;
    this.newest = element;
  }
}
