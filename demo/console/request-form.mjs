import { splitField } from './curl-line.mjs';
import { fillPattern, parameterNames, readParameters } from './pattern.mjs';
import { canSign, sign, signedParts } from './sign.mjs';

const HOUR = 3_600_000;

/** The form of the route that is chosen. */
export class RequestForm {
  #form;
  #inputs;
  #pattern = '';

  /**
   * @param form The form's element.
   * @param secret What is filled in; undefined where only the server knows it.
   * @param onSend Called with the request when it is submitted.
   */
  constructor(form, secret, onSend) {
    this.#form = form;
    this.#inputs = form.elements;
    this.#inputs.secret.value = secret ?? '';
    if (secret === undefined) this.#inputs.secret.type = 'password';
    this.#inputs.signature.disabled = !canSign;
    this.#part('#secret-note').textContent = secretNote(secret);
    form.addEventListener('input', (event) => this.#changed(event.target));
    form.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey || event.target.name === 'target')) return;
      event.preventDefault();
      form.requestSubmit();
    });
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      onSend(await this.#request());
    });
  }

  #part(selector) {
    return this.#form.querySelector(selector);
  }

  /** Fits the form to a route. */
  show({ method, path, signed, live }) {
    this.#pattern = path;
    this.#part('.signature').hidden = signed === undefined;
    this.#part('.pace').hidden = live === undefined;
    this.#showParameters();
    this.fill({ method, target: path, fields: [], body: '', signature: 'none' });
  }

  #showParameters() {
    const names = parameterNames(this.#pattern);
    const fieldset = this.#part('.parameters');
    fieldset.hidden = names.length === 0;
    for (const label of fieldset.querySelectorAll('label')) label.remove();
    for (const name of names) {
      const input = document.createElement('input');
      Object.assign(input, { autocomplete: 'off', autocapitalize: 'off', spellcheck: false });
      const label = document.createElement('label');
      label.append(name, input);
      fieldset.append(label);
    }
  }

  /** Fills a request in. */
  fill({ method, target, fields, body, signature }) {
    const elements = this.#inputs;
    elements.method.value = method;
    elements.target.value = target;
    elements.fields.value = fields.map(([name, value]) => `${name}: ${value}`).join('\n');
    elements.body.value = body;
    elements.signature.value = canSign ? signature : 'none';
    this.#changed(elements.target);
  }

  /** While an answer is on its way it can be stopped. */
  set busy(busy) {
    this.#inputs.stop.disabled = !busy;
  }

  #changed(input) {
    const { method, target } = this.#inputs;
    const parameters = [...this.#part('.parameters').querySelectorAll('input')];
    if (parameters.includes(input)) {
      target.value = fillPattern(this.#pattern, parameters.map(({ value }) => value), target.value);
    } else if (input === target) {
      const values = readParameters(this.#pattern, target.value);
      for (const [index, each] of parameters.entries()) each.value = values?.[index] ?? '';
    }
    target.setCustomValidity(/^\/[^\n]*$/.test(target.value) ? '' : 'Enter a path, which begins with /');
    // A browser sends no body with these.
    this.#part('.body').hidden = method.value === 'GET' || method.value === 'HEAD';
    this.#inputs.secret.required = this.#signs;
    this.#showSignedData();
  }

  get #signs() {
    return !this.#part('.signature').hidden && this.#inputs.signature.value !== 'none';
  }

  #showSignedData() {
    const parts = signedParts(this.#read(), 'timestamp').filter((part) => part !== '');
    this.#part('.signed-data').replaceChildren(...parts.map((part) => Object.assign(document.createElement('code'), { textContent: part })));
  }

  #read() {
    const { method, target, fields, body, pace } = this.#inputs;
    // What goes over the wire is what is signed: a target as a URL serializer writes it.
    const url = target.value.startsWith('/') && URL.canParse(location.origin + target.value) ? new URL(location.origin + target.value) : undefined;
    return {
      method: method.value,
      target: url === undefined ? target.value : url.pathname + url.search,
      fields: fields.value.split('\n').filter((line) => line.trim() !== '').map(splitField),
      body: this.#part('.body').hidden ? '' : body.value,
      pace: this.#part('.pace').hidden ? 0 : Number(pace.value),
    };
  }

  /** What is filled in, with the fields that sign it. */
  async #request() {
    const request = this.#read();
    const { signature, secret } = this.#inputs;
    if (!this.#signs) return request;
    const timestamp = Date.now() - (signature.value === 'late' ? HOUR : 0);
    const signed = signature.value === 'changed' ? changed(request) : request;
    return { ...request, fields: [...request.fields, ...(await sign(secret.value, signed, timestamp))] };
  }
}

/** Another request than the one that is sent. */
function changed(request) {
  return request.body === '' ? { ...request, target: `${request.target}.` } : { ...request, body: `${request.body} ` };
}

function secretNote(secret) {
  if (!canSign) return 'This browser can sign on https and localhost only: open the page there.';
  if (secret === undefined) return 'This server has its own secret. What you enter stays in this page.';
  return 'The secret of the demo is public: it protects nothing.';
}
