import { encodeString } from './encode';
import type { Page } from './page';

const COLON = 0x3a;
/** Names that are kept in mind for one body. */
const MOST = 1000;
/** Strings in a row that may be written under a name, and be another than the last, before they are no longer compared. */
const CREDIT = 4;

/**
 * A property's name where it was last written. Rows are mostly alike, so the
 * name that stood at the same place in the row before is likely to be the next
 * one too; its bytes are then copied, four at a time, instead of encoded again.
 *
 * A name knows its place only by its neighbours. A wrong guess costs nothing
 * but the encoding: the bytes are used only if the name is the same, and the
 * page has kept them.
 *
 * Columns often hold one of a few strings, so the same is done with the string
 * behind a name, until it has been another too often.
 */
export class Name {
  #key = '';
  #at = 0;
  #length = 0;
  /** The page's count when it was written; -1 if the bytes are not there in one piece. */
  #turn = -1;
  /** The string that stands behind it there, and the length of both; 0 if none is known. */
  #value = '';
  #whole = 0;
  #credit = CREDIT;
  #next: Name | null = null;
  #inner: Name | null = null;
  readonly #left: { names: number };

  constructor(left = { names: MOST }) {
    this.#left = left;
  }

  /** What goes before the first name of an object that is the value of this one, or is in it without a name between. */
  get inner(): Name {
    return (this.#inner ??= this.#made());
  }

  /** Writes the name that follows this one, at most 80 units of it, and its colon. */
  write(page: Page, key: string): Name {
    const name = (this.#next ??= this.#made());
    if (name.#turn === page.turns && name.#key === key) name.#copy(page, name.#length);
    else name.#encode(page, key);
    return name;
  }

  /** Writes the name that follows this one, at most 80 units of it, its colon, and a string of no more units. */
  writeString(page: Page, key: string, value: string): Name {
    const name = (this.#next ??= this.#made());
    if (name.#turn !== page.turns || name.#key !== key) {
      name.#encode(page, key);
      encodeString(page, value);
    } else if (name.#credit === 0) {
      name.#copy(page, name.#length);
      encodeString(page, value);
    } else if (name.#whole > 0 && name.#value === value) {
      name.#credit = CREDIT;
      name.#copy(page, name.#whole);
    } else {
      name.#encodeValue(page, value);
    }
    return name;
  }

  #encodeValue(page: Page, value: string): void {
    const { at } = page;
    this.#credit--;
    this.#copy(page, this.#length);
    encodeString(page, value);
    this.#at = at;
    this.#value = value;
    this.#whole = page.at - at;
  }

  #copy(page: Page, length: number): void {
    const { view } = page;
    const end = page.at + length;
    for (let from = this.#at, to = page.at; to < end; from += 4, to += 4) view.setInt32(to, view.getInt32(from, true), true);
    page.at = end;
  }

  #encode(page: Page, key: string): void {
    const { turns, at } = page;
    encodeString(page, key);
    page.block[page.at++] = COLON;
    this.#key = key;
    this.#at = at;
    this.#length = page.at - at;
    this.#turn = page.turns === turns ? turns : -1;
    this.#whole = 0;
    this.#credit = CREDIT;
  }

  /** Past the limit a name is its own neighbour: it guesses wrong, and that is all. */
  #made(): Name {
    return this.#left.names-- > 0 ? new Name(this.#left) : this;
  }
}
