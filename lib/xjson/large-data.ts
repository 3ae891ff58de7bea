import { types } from 'node:util';
import { DataWalk, type Place } from './data-walk';
import type { Rules } from './rules';
import { safeText } from './safe-text';
import { textOf } from './text';
import { ByteList, isOmitted, isRawJson, lengthOf, numbersIn, resolve, truncated, wholeEnd } from './value';

/** Units of a long string that are written at a time. */
const SEGMENT = 65_536;
/** Deeper than this, JSON.stringify overflowed V8's stack before Node 26: the data is none that it can handle. */
const DEEPEST_PLAIN = 5000;

/** Takes text as it is made. */
export interface Sink {
  add(text: string): void;
  /** Forgets all that it was given. */
  clear(): void;
}

/** A container that is too large for one piece, and how far it is written. */
interface Frame {
  readonly source: object;
  /** Names of the properties; null where they are indices. */
  readonly keys: readonly string[] | null;
  readonly isList: boolean;
  /** Whether what is in it is written many at a time: an object of indices, such as a typed array, is slow to make. */
  readonly isMany: boolean;
  readonly length: number;
  index: number;
  /** Whether nothing of it is written yet. */
  isFirst: boolean;
  readonly open: string;
  readonly close: string;
}

/**
 * Writes data of any size and depth a piece at a time, and can stop between
 * any two. Containers that are too large for a piece are gone through by frames
 * of its own, so that depth is bounded by memory alone; what lies beneath them
 * and fits becomes text as small data does.
 */
export class LargeData implements Place {
  /** The sources of the frames. */
  readonly around = new Set<object>();
  readonly #data: unknown;
  #rules: Rules;
  readonly #sink: Sink;
  readonly #piece: number;
  readonly #frames: Frame[] = [];
  #hasBegun = false;
  /** The long string that is being written, and how far it is. */
  #string: { readonly text: string; at: number } | null = null;
  /** Containers that a walk could not see whole. */
  readonly #large = new Set<unknown>();
  /** Index up to which elements are written one by one, since JSON.stringify has refused them together. */
  #singles = 0;
  #hasCycles = false;
  /** Whether something is written that the defaults would have cut. */
  #passesDefaults = false;

  /** @param piece Values of one piece. */
  constructor(data: unknown, rules: Rules, sink: Sink, piece: number) {
    this.#data = data;
    this.#rules = rules;
    this.#sink = sink;
    this.#piece = piece;
  }

  /** How many containers are around what is written next. */
  get level(): number {
    return this.#frames.length;
  }

  /** Takes note of what a walk could not see whole. */
  know({ path }: DataWalk, root: unknown): void {
    this.#large.add(root);
    for (const container of path) this.#large.add(container);
  }

  /** See Serializer.run. */
  run(until: number): boolean {
    do {
      if (!this.#hasBegun) {
        this.#hasBegun = true;
        this.#write(resolve(this.#data, '', this.#piece), '');
      } else if (this.#string !== null) this.#segment(this.#string);
      else {
        const frame = this.#frames[this.#frames.length - 1];
        if (frame === undefined) return true;
        if (frame.index >= frame.length) this.#close(frame);
        else if (frame.isMany && frame.index >= this.#singles) this.#several(frame);
        else this.#single(frame);
      }
    } while (performance.now() < until);
    return this.#frames.length === 0 && this.#string === null && this.#hasBegun;
  }

  /** The defaults are in force from now on. What is written and would have been cut is written anew. */
  #guard(passesDefaults: boolean): boolean {
    if (this.#rules.isGuarded) return false;
    this.#rules = this.#rules.guarded();
    if (!this.#passesDefaults && !passesDefaults) return false;
    this.#sink.clear();
    this.#frames.length = 0;
    this.around.clear();
    this.#large.clear();
    this.#singles = 0;
    this.#hasBegun = false;
    return true;
  }

  /** Writes as many elements or members as fit one piece, and one that does not by itself. */
  #several(frame: Frame): void {
    const { level } = this;
    const source = frame.source as Readonly<Record<string | number, unknown>>;
    const { index: from, isList, keys } = frame;
    // Into a cycle it goes until that is too much; the element by itself is looked at with care.
    const walk = new DataWalk(this.#rules, this.#piece, this.#hasCycles, this);
    const elements: unknown[] = [];
    const members = Object.create(null) as Record<string, unknown>;
    while (frame.index < frame.length) {
      const key = keys === null ? frame.index : (keys[frame.index] as string);
      const seen = walk.value(source[key], key, level);
      if (walk.left < 0 || walk.isCyclic || walk.isCut || (walk.hasBigInt && !this.#rules.isGuarded)) break;
      if (isList) elements.push(seen);
      else members[key] = seen;
      frame.index++;
    }
    if (walk.passesDefaults) this.#passesDefaults = true;
    if (frame.index > from) this.#put(frame, isList ? elements : members, from, walk);
    else this.#single(frame);
  }

  #put(frame: Frame, batch: object, from: number, walk: DataWalk): void {
    try {
      if ('toJSON' in batch) throw new TypeError('the batch would be asked for its JSON');
      // Nothing of it is beyond the limits, though it stands higher here.
      const text = this.#rules.sorted ? (safeText(batch, this.#rules, walk) as string) : JSON.stringify(batch);
      if (walk.isRefused && !this.#rules.isGuarded) throw new TypeError('the defaults are in force from now on');
      if (text.length === 2) return;
      // Not joined: V8 would copy all of it.
      if (!frame.isFirst) this.#sink.add(',');
      this.#sink.add(text.slice(1, -1));
      frame.isFirst = false;
    } catch (error) {
      // What no walk sees: by themselves they take the safe path.
      if (!(error instanceof TypeError)) throw error;
      this.#singles = frame.index;
      frame.index = from;
    }
  }

  /** Writes one element or member. */
  #single(frame: Frame): void {
    const { source, index, isList, keys } = frame;
    const key = keys === null ? String(index) : (keys[index] as string);
    frame.index++;
    const value = resolve((source as Record<string, unknown>)[key], key, this.#piece);
    if (isOmitted(value) && !isList) return;
    const lead = (frame.isFirst ? '' : ',') + (isList ? '' : `${JSON.stringify(key)}:`);
    frame.isFirst = false;
    this.#write(value, lead);
  }

  /** Writes a resolved value whole, or opens it. */
  #write(value: unknown, lead: string): void {
    const rules = this.#rules;
    if (isOmitted(value)) return this.#sink.add(`${lead}null`);
    if (this.level < rules.limits.depth && !this.around.has(value as object) && this.#large.delete(value)) return this.#open(value as object, lead);
    const walk = new DataWalk(rules, this.#piece, true, this);
    const seen = walk.resolved(value, this.level);
    this.#hasCycles ||= walk.isCyclic;
    if (!rules.isGuarded && (walk.isCyclic || walk.hasBigInt)) return this.#guard(walk.passesDefaults) ? undefined : this.#write(value, lead);
    this.#passesDefaults ||= walk.passesDefaults;
    if (walk.left < 0) {
      this.know(walk, value);
      this.#large.delete(value);
      return this.#open(value as string | object, lead);
    }
    const text = textOf(value, seen, walk, rules, this) as string;
    if (!walk.isRefused || !this.#guard(walk.passesDefaults)) this.#sink.add(lead + text);
  }

  /** Begins a container or string that is too large for a piece. */
  #open(value: string | object, lead: string): void {
    if (typeof value === 'string') {
      const most = this.#rules.limits.string;
      this.#string = { text: value.length > most ? truncated(value, most) : value, at: 0 };
      return this.#sink.add(`${lead}"`);
    }
    if (isRawJson(value)) return this.#sink.add(lead + JSON.stringify(value));
    if (this.level >= this.#rules.safe.depth) this.#passesDefaults = true;
    if (this.level >= DEEPEST_PLAIN && this.#guard(true)) return;
    const frame = frameOf(value, this.#rules);
    this.around.add(frame.source);
    this.#frames.push(frame);
    this.#sink.add(lead + frame.open);
  }

  #close({ source, close }: Frame): void {
    this.#sink.add(close);
    this.around.delete(source);
    this.#frames.pop();
    this.#singles = 0;
  }

  #segment(string: { readonly text: string; at: number }): void {
    const { text, at } = string;
    string.at = at + SEGMENT < text.length ? wholeEnd(text, at + SEGMENT) : text.length;
    const segment = JSON.stringify(text.slice(at, string.at)).slice(1, -1);
    if (string.at < text.length) return this.#sink.add(segment);
    this.#string = null;
    this.#sink.add(`${segment}"`);
  }
}

function frameOf(value: object, { hidden, sorted }: Rules): Frame {
  const begun = { source: value, index: 0, isFirst: true };
  if (value instanceof ByteList || Array.isArray(value)) return { ...begun, keys: null, isList: true, isMany: !hidden, length: lengthOf(value), open: '[', close: ']' };
  const numbers = hidden ? -1 : numbersIn(value);
  const keys = numbers >= 0 ? null : hidden ? Object.getOwnPropertyNames(value) : Object.keys(value);
  if (sorted && (hidden || !types.isTypedArray(value))) keys?.sort();
  return { ...begun, keys, isList: false, isMany: !hidden && keys !== null && !types.isProxy(value), length: keys?.length ?? numbers, open: '{', close: '}' };
}
