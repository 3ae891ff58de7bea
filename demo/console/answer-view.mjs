import { renderJson } from './json-text.mjs';
import { LiveView } from './live-view.mjs';
import { bytesText, timeText } from './units.mjs';

/** How much of a body is shown, in characters. */
const SHOWN = 20_000;

/** The answer of the request that was sent last. */
export class AnswerView {
  #section;
  #live;

  constructor(section) {
    this.#section = section;
    this.#live = new LiveView(section.querySelector('.live'));
  }

  #part(selector) {
    return this.#section.querySelector(selector);
  }

  /** Forgets the answer before. */
  reset(summary) {
    this.#live.reset();
    this.#part('.parts').hidden = true;
    this.#part('.timing').hidden = true;
    this.#summarize(summary);
  }

  /** Shows what an exchange has come to while it goes on. */
  update(result) {
    if (result.pieces === 0) this.#summarize('Headers received; reading the body.');
    this.#live.update(result);
  }

  /** Shows an exchange that is over. */
  show(request, result) {
    const { response, failure, bytes, head, total, text, protocol } = result;
    if (response === undefined) {
      this.#summarize(failure.name === 'AbortError' ? 'Stopped before a response came.' : `No response: ${failure.message}. Is the server running?`, 'failed');
      return;
    }
    const outcome = failure === undefined ? '' : failure.name === 'AbortError' ? '; stopped' : '; cut off';
    const led = response.redirected ? `, redirected to ${new URL(response.url).pathname}` : '';
    this.#summarize(`${[response.statusText, protocol, `${bytesText(bytes)} in ${timeText(total)}`].filter(Boolean).join(', ')}${led}${outcome}`, kindOf(response.status), response.status);
    this.#showTiming(head, total - head);
    this.#showBody(response, text);
    showFields(this.#part('.received'), [...response.headers]);
    this.#part('.request-line').textContent = `${request.method} ${request.target}`;
    showFields(this.#part('.sent'), request.fields);
    this.#part('.parts').hidden = false;
  }

  #summarize(text, kind = '', status = undefined) {
    const summary = this.#part('.summary');
    summary.dataset.kind = kind;
    summary.textContent = text;
    if (status !== undefined) summary.prepend(Object.assign(document.createElement('strong'), { textContent: status }), ' ');
  }

  #showTiming(waiting, receiving) {
    this.#part('.timing').hidden = false;
    this.#part('.waiting').style.flexGrow = waiting;
    this.#part('.receiving').style.flexGrow = receiving;
    this.#part('.waiting-time').textContent = timeText(waiting);
    this.#part('.receiving-time').textContent = timeText(receiving);
  }

  #showBody({ headers }, text) {
    const shown = text.slice(0, SHOWN);
    this.#part('.cut').textContent = shown.length < text.length ? `The first ${SHOWN.toLocaleString('en')} of ${text.length.toLocaleString('en')} characters.` : '';
    const json = /^application\/(?:[\w.-]+\+)?json\b/.test(headers.get('content-type') ?? '');
    this.#part('.content').replaceChildren(text === '' ? 'No body.' : json ? renderJson(shown) : shown);
  }
}

function kindOf(status) {
  return ['', 'informed', 'succeeded', 'redirected', 'refused', 'failed'][Math.trunc(status / 100)];
}

function showFields(list, fields) {
  list.replaceChildren(...fields.flatMap(([name, value]) => [
    Object.assign(document.createElement('dt'), { textContent: name }),
    Object.assign(document.createElement('dd'), { textContent: value }),
  ]));
}
