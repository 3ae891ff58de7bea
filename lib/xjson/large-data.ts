import { isDeepStrictEqual, types } from 'node:util';
import { type Ancestors, DataWalk } from './data-walk';
import type { Rules } from './rules';
import { safeText } from './safe-text';
import { jsonText } from './text';
import { alignToCodePoint, ByteList, isOmitted, isRawJson, resolve, truncated } from './value';

/** Units of a long string that are written at a time. */
const SEGMENT_LENGTH = 65_536;
/** Deepest level that JSON.stringify can handle: before Node 26, deeper data overflowed V8's stack. */
const MAX_PLAIN_DEPTH = 5000;

/** Takes text as it is made. */
export interface Sink {
  add(text: string): void;
  /** Discards all text so far. */
  clear(): void;
}

/** A container too large for one piece, and the progress in it. */
interface Frame {
  readonly source: object;
  /** Names of the properties; null where they are indices. */
  readonly keys: readonly string[] | null;
  readonly isArray: boolean;
  /** True where elements are written many at a time: objects of indices, such as typed arrays, are slow to make. */
  readonly isBatched: boolean;
  readonly length: number;
  index: number;
  /** True until an element is written. */
  isFirst: boolean;
  readonly open: string;
  readonly close: string;
}

/**
 * Writes data of any size and depth a piece at a time. It can stop between any
 * two pieces. A stack of frames holds the containers that are too large for a
 * piece, so memory alone bounds the depth. Containers beneath them that fit
 * become text as small data does.
 */
export class LargeData implements Ancestors {
  /** The sources of the frames. */
  readonly containers = new Set<object>();
  readonly #data: unknown;
  #rules: Rules;
  readonly #sink: Sink;
  readonly #piece: number;
  readonly #frames: Frame[] = [];
  #hasBegun = false;
  /** The long string that is being written, and the position in it. */
  #string: { readonly text: string; at: number } | null = null;
  /** Containers that a walk could not see whole. */
  readonly #large = new Set<unknown>();
  /** End index of elements that are written one by one: JSON.stringify refused them together. */
  #unbatchedEnd = 0;
  #hasCycles = false;
  /** Set when something is written that the defaults would have cut. */
  #exceedsDefaults = false;

  /** @param piece Number of values in one piece. */
  constructor(data: unknown, rules: Rules, sink: Sink, piece: number) {
    this.#data = data;
    this.#rules = rules;
    this.#sink = sink;
    this.#piece = piece;
  }

  /** Number of containers around the next value. */
  get level(): number {
    return this.#frames.length;
  }

  /** Marks the containers that a walk could not see whole as large. */
  markLarge({ path }: DataWalk, root: unknown): void {
    this.#large.add(root);
    for (const container of path) this.#large.add(container);
  }

  /** See Serializer.run. */
  run(until: number): boolean {
    do {
      if (!this.#hasBegun) {
        this.#hasBegun = true;
        this.#write(resolve(this.#data, '', this.#piece), '');
      } else if (this.#string !== null) this.#writeSegment(this.#string);
      else {
        const frame = this.#frames[this.#frames.length - 1];
        if (frame === undefined) return true;
        if (frame.index >= frame.length) this.#close(frame);
        else if (frame.isBatched && frame.index >= this.#unbatchedEnd) this.#writeBatch(frame);
        else this.#writeNext(frame);
      }
    } while (performance.now() < until);
    return this.#frames.length === 0 && this.#string === null && this.#hasBegun;
  }

  /** Puts the defaults in force. Returns true when it begins anew, since they would have cut something written. */
  #guard(exceedsDefaults: boolean): boolean {
    if (this.#rules.isGuarded) return false;
    this.#rules = this.#rules.guarded();
    if (!this.#exceedsDefaults && !exceedsDefaults) return false;
    this.#sink.clear();
    this.#frames.length = 0;
    this.containers.clear();
    this.#large.clear();
    this.#unbatchedEnd = 0;
    this.#hasBegun = false;
    return true;
  }

  /** Writes as many elements or members as fit one piece; a larger one by itself. */
  #writeBatch(frame: Frame): void {
    const { level } = this;
    const source = frame.source as Readonly<Record<string | number, unknown>>;
    const { index: from, isArray, keys } = frame;
    // A cycle uses up the budget; then the element is written by itself, with cycles tracked.
    const walk = new DataWalk(this.#rules, this.#piece, this.#hasCycles, this);
    const elements: unknown[] = [];
    const members = Object.create(null) as Record<string, unknown>;
    while (frame.index < frame.length) {
      const key = keys === null ? frame.index : (keys[frame.index] as string);
      const result = walk.visit(source[key], key, level);
      if (walk.budget < 0 || walk.isCyclic || walk.isCut || (walk.hasBigInt && !this.#rules.isGuarded)) break;
      if (isArray) elements.push(result);
      else members[key] = result;
      frame.index++;
    }
    if (walk.exceedsDefaults) this.#exceedsDefaults = true;
    if (frame.index > from) this.#addBatch(frame, isArray ? elements : members, from, walk);
    else this.#writeNext(frame);
  }

  #addBatch(frame: Frame, batch: object, from: number, walk: DataWalk): void {
    try {
      if ('toJSON' in batch) throw new TypeError('the batch would be asked for its JSON');
      // Nothing of it is beyond the limits, though its level is lower here.
      const text = this.#rules.sorted ? (safeText(batch, this.#rules, walk) as string) : JSON.stringify(batch);
      if (walk.isRefused && !this.#rules.isGuarded) throw new TypeError('the defaults are in force from now on');
      if (text.length === 2) return;
      // Not joined: V8 would copy all of it.
      if (!frame.isFirst) this.#sink.add(',');
      this.#sink.add(text.slice(1, -1));
      frame.isFirst = false;
    } catch (error) {
      // No walk sees a BigInt in a box: each element by itself takes the safe path.
      if (!(error instanceof TypeError)) throw error;
      this.#unbatchedEnd = frame.index;
      frame.index = from;
    }
  }

  /** Writes one element or member. */
  #writeNext(frame: Frame): void {
    const { source, index, isArray, keys } = frame;
    const key = keys === null ? String(index) : (keys[index] as string);
    frame.index++;
    const value = resolve((source as Record<string, unknown>)[key], key, this.#piece);
    if (isOmitted(value) && !isArray) return;
    const lead = (frame.isFirst ? '' : ',') + (isArray ? '' : `${JSON.stringify(key)}:`);
    frame.isFirst = false;
    this.#write(value, lead);
  }

  /** Writes a resolved value whole, or opens it. */
  #write(value: unknown, lead: string): void {
    const rules = this.#rules;
    if (isOmitted(value)) return this.#sink.add(`${lead}null`);
    if (this.level < rules.limits.depth && !this.containers.has(value as object) && this.#large.delete(value)) return this.#open(value as object, lead);
    const walk = new DataWalk(rules, this.#piece, true, this);
    const result = walk.visitResolved(value, this.level);
    this.#hasCycles ||= walk.isCyclic;
    if (!rules.isGuarded && (walk.isCyclic || walk.hasBigInt)) return this.#guard(walk.exceedsDefaults) ? undefined : this.#write(value, lead);
    this.#exceedsDefaults ||= walk.exceedsDefaults;
    if (walk.budget < 0) {
      this.markLarge(walk, value);
      this.#large.delete(value);
      return this.#open(value as string | object, lead);
    }
    const text = jsonText(value, result, walk, rules, this) as string;
    if (!walk.isRefused || !this.#guard(walk.exceedsDefaults)) this.#sink.add(lead + text);
  }

  /** Begins a container or string that is too large for a piece. */
  #open(value: string | object, lead: string): void {
    if (typeof value === 'string') {
      const most = this.#rules.limits.string;
      this.#string = { text: value.length > most ? truncated(value, most) : value, at: 0 };
      return this.#sink.add(`${lead}"`);
    }
    if (isRawJson(value)) return this.#sink.add(lead + JSON.stringify(value));
    if (this.level >= this.#rules.safe.depth) this.#exceedsDefaults = true;
    if (this.level >= MAX_PLAIN_DEPTH && this.#guard(true)) return;
    const frame = frameOf(value, this.#rules);
    this.containers.add(frame.source);
    this.#frames.push(frame);
    this.#sink.add(lead + frame.open);
  }

  #close({ source, close }: Frame): void {
    this.#sink.add(close);
    this.containers.delete(source);
    this.#frames.pop();
    this.#unbatchedEnd = 0;
  }

  #writeSegment(string: { readonly text: string; at: number }): void {
    const { text, at } = string;
    string.at = at + SEGMENT_LENGTH < text.length ? alignToCodePoint(text, at + SEGMENT_LENGTH) : text.length;
    const segment = JSON.stringify(text.slice(at, string.at)).slice(1, -1);
    if (string.at < text.length) return this.#sink.add(segment);
    this.#string = null;
    this.#sink.add(`${segment}"`);
  }
}

function frameOf(source: object, { hidden, sorted }: Rules): Frame {
  const begun = { source, index: 0, isFirst: true };
  if (source instanceof ByteList || Array.isArray(source)) return { ...begun, keys: null, isArray: true, isBatched: !hidden, length: source.length, open: '[', close: ']' };
  // Equal to an array on the same memory, it has no names of its own: those of its elements need not be made.
  if (!hidden && types.isTypedArray(source) && isDeepStrictEqual(source, source.subarray())) return { ...begun, keys: null, isArray: false, isBatched: false, length: source.length, open: '{', close: '}' };
  const keys = hidden ? Object.getOwnPropertyNames(source) : Object.keys(source);
  if (sorted && (hidden || !types.isTypedArray(source))) keys.sort();
  return { ...begun, keys, isArray: false, isBatched: !hidden, length: keys.length, open: '{', close: '}' };
}
