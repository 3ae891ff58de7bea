/**
 * Sends requests at moments that are fixed beforehand, however long the answers
 * take, and tells how long each took from the moment it was due. A request that
 * is due while its connection waits for an answer goes out behind that answer,
 * and its time has run since it was due: so a server that stops for a while is
 * charged with all that came due meanwhile.
 * `node paced.mjs '{"port":…,"request":…,"connections":…,"rate":…,"seconds":…}'`
 */
import { connect } from 'node:net';

const { port, request, connections, rate, seconds } = JSON.parse(process.argv[2]);
const bytes = Buffer.from(request);
const STATUS = 'HTTP/1.1 200';
const READ_AT_ONCE = 16_384;
/** Wait for answers behind the last request, in milliseconds. */
const PATIENCE = 10_000;

const due = schedule(Math.round(rate * seconds), rate);
const took = new Float64Array(due.length);
/** How much later than due this program came to a request by itself. */
const late = new Float64Array(due.length);
let started = 0;
let handed = 0;
let answered = 0;

/** Moments in milliseconds from the start, as of users who know nothing of each other; the same in every run. */
function schedule(count, perSecond) {
  const moments = new Float64Array(count);
  let seed = 20_240_101;
  let at = 0;
  for (let i = 0; i < count; i++) {
    // Park and Miller's minimal standard, which needs no more bits than a double has.
    seed = (seed * 48_271) % 2_147_483_647;
    at -= (Math.log(seed / 2_147_483_647) / perSecond) * 1000;
    moments[i] = at;
  }
  return moments;
}

class Connection {
  #socket;
  #received = 0;
  /** Bytes of an answer, which all are as long; 0 until the first has come. */
  #length = 0;
  #head = '';
  /** Requests that are due or under way: the first is under way. They lie as many apart as there are connections. */
  #first;
  #owed = 0;

  constructor(index, ready) {
    this.#first = index;
    this.ready = ready;
    const onread = { buffer: Buffer.alloc(READ_AT_ONCE), callback: (count, buffer) => this.#read(count, buffer) };
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread }, () => this.#socket.write(bytes));
    this.#socket.on('error', fail);
    this.#socket.on('close', () => fail(new Error('a connection was closed')));
  }

  hand() {
    if (this.#owed++ === 0) this.#socket.write(bytes);
  }

  #read(count, buffer) {
    if (this.#length === 0) {
      this.#learn(buffer.toString('latin1', 0, count));
      return true;
    }
    if (this.#received === 0 && buffer.toString('latin1', 0, STATUS.length) !== STATUS) fail(new Error(`an answer was ${buffer.toString('latin1', 0, Math.min(count, 100))}`));
    this.#received += count;
    if (this.#received > this.#length) fail(new Error(`an answer has ${this.#received} bytes, the first had ${this.#length}`));
    if (this.#received === this.#length) this.#answered();
    return true;
  }

  /** The first answer is not measured: it tells how long all are. */
  #learn(text) {
    this.#head += text;
    const end = this.#head.indexOf('\r\n\r\n');
    if (end === -1) return;
    if (!this.#head.startsWith(STATUS)) fail(new Error(`an answer was ${this.#head.slice(0, 100)}`));
    const body = /^content-length: *(\d+)/im.exec(this.#head)?.[1];
    if (body === undefined) fail(new Error('an answer has no Content-Length'));
    const length = end + 4 + Number(body);
    if (this.#head.length < length) return;
    this.#length = length;
    this.ready();
  }

  #answered() {
    took[this.#first] = performance.now() - started - due[this.#first];
    this.#first += connections;
    this.#received = 0;
    answered++;
    if (--this.#owed > 0) this.#socket.write(bytes);
  }
}

function fail(error) {
  console.error(error.message);
  process.exit(1);
}

/** Asks the clock in every turn of the event loop: a timer would be a millisecond late. */
function turn() {
  const now = performance.now() - started;
  while (handed < due.length && due[handed] <= now) {
    late[handed] = now - due[handed];
    pool[handed % connections].hand();
    handed++;
  }
  if (answered === due.length) tell();
  else if (now > due[due.length - 1] + PATIENCE) fail(new Error(`${due.length - answered} of ${due.length} requests were not answered within ${PATIENCE} ms`));
  else setImmediate(turn);
}

function tell() {
  const microseconds = (values) => Array.from(values, (value) => Math.round(value * 1000));
  process.stdout.write(JSON.stringify({ took: microseconds(took), late: microseconds(late) }), () => process.exit());
}

let waiting = connections;
const pool = Array.from({ length: connections }, (_, index) => new Connection(index, () => {
  if (--waiting > 0) return;
  started = performance.now();
  turn();
}));
