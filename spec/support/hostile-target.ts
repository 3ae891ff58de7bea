/** A seeded source of choices: the same seed makes the same choices. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A whole number from 0 up to, but not including, `end` (mulberry32). */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * end);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  /** Whether something that happens once in `times` happens. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }
}

/** A request line to attack with. */
export interface HostileRequest {
  readonly method: string;
  /** The target, a character a byte. */
  readonly target: string;
  /** Whether it asks to switch protocols. */
  readonly upgrade: boolean;
}

type Disguise = (target: string, dice: Dice) => string;

const METHODS = ['GET', 'GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'POST', 'OPTIONS', 'DELETE', 'PUT', 'TRACE', 'PROPFIND', 'M-SEARCH'];

/** What a slash may be written as. */
const SLASHES = [
  '//', '///', '/./', '/.//', '/x/../', '/x/..//', '/x;/../', '/..;/', '/;/', '/;v=1/', ';v=1/', '/%2e/', '/x/%2e%2e/', '/x/%2E./', '/x/.%2e/', '/x/%252e%252e/',
  '\\', '/\\', '%2f', '%2F', '%252f', '%25252F', '%5c', '%5C', '%255c', '/x%2f..%2f', '/x%5c..%5c', '/x\\..\\', '%2f%2f', '/%2f', '%2f/', '/x/..%2f', '%3b/', '/.%00/', '%09/',
  '/?/', '/#/', '/x#/../', '/x?/../', '/x%23/../', '/x%3f/../', '%23/../', '/..xJson/', '/.xJson/', '.xJson/',
];

/** What may stand before a path. */
const HEADS = [
  '/', '//', '/.', '/./', '/%2e', '/\\', '//evil', '//evil:80', '/\\evil', '///evil', '//x@evil', '/x/..', '/x/%2e%2e', '/x/..;', '/x/..%2f', '/open/..', '/open/../..', '/open/%2e%2e', '/open/..%2f', '/open/..;', '/open/x/../..',
  '/open/x#/../..', '/open/x?/../..', '/open/x%23/../..', '/open/x;/../..', '/health/..', '/health/..;', '/admin/public/../..', '/admin/public/%2e%2e%2f..', '/admin/public/..;/..', '/admin/public/x#/../../..',
  'http://host', 'http://host:80', 'HTTP://HOST', 'https://u:p@host', 'http://host/', 'http://host/.', 'http://host//evil', 'http://host/x/..', 'http://host/open/..', 'ws://host', 'file://', 'http://', 'ftp://a.b',
  '/http://host', '/;', '/%09', '/%20', '/%00', '/%', '/#/..', '/?/..', '/%2f', '/%5c', '/%252f', '/..', '/../..', '/.%2e',
];

/** What may stand behind a path. */
const TAILS = [
  '/', '//', '/.', '/./', '/..', '/x/..', '/../y', '/%2e', '/x/%2e%2e', '/;', ';', ';a=b', ';jsessionid=1', ';/..', ';.css', '%3b', '%3B.css', '%3bx', '\\', '%5c', '%5C..', '%2f', '%2F', '%252f', '/\\',
  '.xJson', '.xjson', '.XJSON', '.xJson.xJson', '.xJson.xjson.xJson', '.xJso%6e', '%2exJson', '%2ExJson.xJson', '/.xJson', '/..xJson', '/...xJson', '.xJson/', '.xJson/.xJson', '.xJson;a', '.xJson%00', ';.xJson', '.xJson?x', '.json', '.css',
  '?', '??', '?x', '?/../..', '?x=/api/key', '?_method=DELETE', '?_method=GET', '?_method=POST', '?a#b', '#', '#f', '#/..', '#/../x', '#?x', '%3F', '%3fx', '%23', '%23x', '%2523',
  '%', '%2', '%zz', '%u002f', '%00', '%0a', '%0d%0a', '%09', '%20', '%c0%af', '%ff', '%C3', '.', '..', '...', '%2e', '~', '*', '$', '"', "'", '{', '}', '|', '^', '`', '<', '>', '[', ']', '@', ':', ',', '!', '+', '&',
];

/** What a letter may be mistaken for: by folding, or by a decoder that takes overlong or wide forms. */
const LOOKALIKES: Readonly<Record<string, readonly string[]>> = {
  k: ['%e2%84%aa', '%E2%84%AA', '%25e2%2584%25aa'],
  s: ['%c5%bf', '%C5%BF'],
  i: ['%c4%b1', '%C4%B0'],
  a: ['%c1%a1', '%e0%81%a1', '%ef%bd%81', '%u0061'],
  é: ['%c3%a9', '%C3%A9', '%C3%89', 'e%cc%81', '%25c3%25a9', '%c3%25a9', '%%63%33%a9', '%e9'],
};

const DISGUISES: readonly Disguise[] = [
  (target, dice) => swap(target, dice, (char) => `%${hex(char, dice)}`),
  (target, dice) => swap(target, dice, (char) => `%${hex(char, dice)}`),
  (target, dice) => swap(target, dice, (char) => `%25${hex(char, dice)}`),
  (target, dice) => swap(target, dice, (char) => `%2525${hex(char, dice)}`),
  (target, dice) => swap(target, dice, (char) => `%${[...hex(char, dice)].map((digit) => `%3${digit}`).join('').replace(/%3([a-f])/gi, (_, digit: string) => `%${hex(digit, dice)}`)}`),
  (target, dice) => swap(target, dice, (char) => dice.pick(LOOKALIKES[char.toLowerCase()] ?? [`%${hex(char, dice)}`])),
  (target, dice) => swap(target, dice, turned),
  (target, dice) => swap(target, dice, turned),
  (target) => target.replace(/[a-z]/gi, turned),
  (target, dice) => target.replace(/[a-z]/gi, (char) => (dice.once(2) ? turned(char) : char)),
  (target, dice) => target.replace(/[a-z]/gi, (char) => (dice.once(3) ? `%${hex(char, dice)}` : char)),
  (target, dice) => slash(target, dice, dice.pick(SLASHES)),
  (target, dice) => slash(target, dice, dice.pick(SLASHES)),
  (target, dice) => slash(target, dice, dice.pick(SLASHES)),
  (target, dice) => dice.pick(HEADS) + target,
  (target, dice) => dice.pick(HEADS) + target,
  (target, dice) => target + dice.pick(TAILS),
  (target, dice) => target + dice.pick(TAILS),
  (target, dice) => target + dice.pick(TAILS),
  (target, dice) => insert(target, dice, dice.pick(TAILS)),
  (target) => target.slice(0, -1),
];

/**
 * Request targets that are, or might be taken for, those of the given paths:
 * each path is disguised by up to five steps, now and then by none.
 */
export class HostileTargets {
  readonly #dice: Dice;
  readonly #paths: readonly string[];
  readonly #words: readonly string[];

  constructor(seed: number, paths: readonly string[]) {
    this.#dice = new Dice(seed);
    this.#paths = paths;
    this.#words = paths.flatMap((path) => path.split('/'));
  }

  next(): HostileRequest {
    const dice = this.#dice;
    let target = this.#path();
    for (let steps = dice.below(dice.once(3) ? 6 : 3); steps > 0; steps--) target = dice.pick(DISGUISES)(target, dice);
    return { method: dice.pick(METHODS), target: sendable(target), upgrade: dice.once(12) };
  }

  #path(): string {
    const dice = this.#dice;
    if (!dice.once(12)) return dice.pick(this.#paths);
    return Array.from({ length: 1 + dice.below(4) }, () => `/${dice.pick(this.#words)}`).join('');
  }
}

/** The target as Node's parser may take it: not a byte of a control character, a space, or beyond ASCII. */
function sendable(target: string): string {
  const text = Buffer.from(target, 'utf8').toString('latin1').replace(/[^\x21-\x7e]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return text === '' ? '/' : text;
}

function hex(char: string, dice: Dice): string {
  const digits = char.charCodeAt(0).toString(16).padStart(2, '0');
  return dice.once(2) ? digits : digits.toUpperCase();
}

function turned(char: string): string {
  return char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase();
}

function swap(target: string, dice: Dice, change: (char: string) => string): string {
  const index = target.length < 2 ? 0 : 1 + dice.below(target.length - 1);
  return target.slice(0, index) + change(target[index] ?? 'x') + target.slice(index + 1);
}

function slash(target: string, dice: Dice, instead: string): string {
  const places = [...target.matchAll(/\//g)].map((match) => match.index);
  const index = places[dice.below(places.length)] ?? 0;
  return index === 0 && !instead.startsWith('/') ? `/${target}` : target.slice(0, index) + instead + target.slice(index + 1);
}

function insert(target: string, dice: Dice, text: string): string {
  const index = dice.below(target.length + 1);
  return target.slice(0, index) + text + target.slice(index);
}
