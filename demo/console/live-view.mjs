import { ElementCounter } from './element-counter.mjs';
import { bytesText } from './units.mjs';

/** Beyond this, in bytes, an answer is shown as it comes. */
const LARGE = 262_144;
/** How much of an element is shown, in characters. */
const SHOWN = 400;

/** What is seen of a large answer while it comes in. It draws once a frame, however many pieces come. */
export class LiveView {
  #figure;
  #progress;
  #counter = new ElementCounter();
  /** Milliseconds and bytes, a pair for each piece. */
  #points = [];
  #expected = 0;
  #drawing = false;

  constructor(figure) {
    this.#figure = figure;
    this.#progress = figure.querySelector('progress');
  }

  reset() {
    this.#figure.hidden = true;
    this.#counter = new ElementCounter();
    this.#points = [];
    this.#expected = 0;
  }

  /** Takes what an exchange has come to. */
  update({ response, total, bytes, newest, pieces }) {
    if (pieces === 0) {
      this.#expected = Number(response.headers.get('content-length'));
      this.#figure.hidden = this.#expected < LARGE;
      return;
    }
    if (this.#figure.hidden) return;
    this.#points.push([total, bytes]);
    this.#counter.push(newest);
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      // Meanwhile another request may have been sent.
      if (this.#points.length > 0) this.#draw();
    });
  }

  #draw() {
    const [time, bytes] = this.#points.at(-1);
    this.#progress.value = bytes / this.#expected;
    this.#put('.bytes', `${bytesText(bytes)} of ${bytesText(this.#expected)}`);
    this.#put('.pieces', this.#points.length.toLocaleString('en'));
    this.#put('.elements', this.#counter.count.toLocaleString('en'));
    this.#put('.newest', this.#counter.newest.slice(0, SHOWN));
    const steps = this.#points.map(([at, sum]) => `L${((100 * at) / time).toFixed(2)} ${(100 - (100 * sum) / this.#expected).toFixed(2)}`).join('');
    this.#figure.querySelector('.line').setAttribute('d', `M0 100${steps}`);
    this.#figure.querySelector('.area').setAttribute('d', `M0 100${steps}V100Z`);
  }

  #put(selector, text) {
    this.#figure.querySelector(selector).textContent = text;
  }
}
