/**
 * Clients that send their requests ten bytes at a time, twenty times a second,
 * over and over: `node slow.mjs '{"port":…,"request":…,"clients":…}'`.
 * Prints a line once all of them have begun, and another once each has been
 * answered. Ends with its input; with status 1 when a client is refused or cut off.
 */
import { connect } from 'node:net';
import { setInterval } from 'node:timers';

const PIECE = 10;
const PAUSE = 50;
/** Shares of the clients that take turns, so that not all send at one moment. */
const TURNS = 10;

const { port, request, clients } = JSON.parse(process.argv[2]);
let waiting = clients;

class SlowClient {
  #socket = connect(port, '127.0.0.1').setNoDelay();
  #sent = 0;
  #received = '';
  #wasAnswered = false;

  constructor() {
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text) => this.#read(text));
    this.#socket.on('error', fail);
    this.#socket.on('close', () => fail(new Error('a slow client was cut off')));
  }

  /** Nothing is sent while the answer is awaited. */
  step() {
    if (this.#sent >= request.length) return;
    this.#socket.write(request.slice(this.#sent, this.#sent + PIECE), 'latin1');
    this.#sent += PIECE;
  }

  #read(text) {
    this.#received += text;
    const head = this.#received.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = Number(/^content-length: *(\d+)/im.exec(this.#received)?.[1] ?? 0);
    if (this.#received.length < head + 4 + length) return;
    if (!this.#received.startsWith('HTTP/1.1 200') || this.#sent < request.length) fail(new Error(`a slow client was answered ${this.#received.slice(0, 100)}`));
    this.#received = '';
    this.#sent = 0;
    if (!this.#wasAnswered && --waiting === 0) console.log('answered');
    this.#wasAnswered = true;
  }
}

function fail(error) {
  console.error(error.message);
  process.exit(1);
}

const all = Array.from({ length: clients }, () => new SlowClient());
let turns = 0;
setInterval(() => {
  for (let i = turns % TURNS; i < clients; i += TURNS) all[i].step();
  if (++turns === TURNS) console.log('begun');
}, PAUSE / TURNS);
// Who was cut off before the end is heard of first.
process.stdin.on('end', () => setTimeout(() => process.exit(), PAUSE)).resume();
