// Makes a console of the start page: one route at a time, with a form, its answer, and buttons at its lines.
import { AnswerView } from './answer-view.mjs';
import { readLine } from './curl-line.mjs';
import { exchange } from './exchange.mjs';
import { RequestForm } from './request-form.mjs';

const main = document.querySelector('main');
const menu = document.querySelector('nav details');
const articles = [...main.querySelectorAll('article')];
const narrow = matchMedia('(max-width: 56rem)');

const workbench = main.querySelector('template').content;
const [formElement, answerElement] = [workbench.querySelector('form'), workbench.querySelector('.answer')];
const form = new RequestForm(formElement, document.body.dataset.secret, send);
const answer = new AnswerView(answerElement);
let sending = new AbortController();

/** Shows one route, its form filled with its first line. */
function choose(article) {
  for (const each of articles) each.hidden = each !== article;
  for (const section of main.querySelectorAll(':scope > section')) section.hidden = !section.contains(article);
  for (const link of menu.querySelectorAll('a')) {
    link.ariaCurrent = linkTarget(link) === article.id ? 'true' : null;
  }
  sending.abort();
  sending = new AbortController();
  form.busy = false;
  article.querySelector('.lines').before(formElement, answerElement);
  form.show(article.dataset);
  answer.reset('No request sent yet.');
  const first = article.querySelector('.try');
  if (first !== null) form.fill(requests.get(first));
  menu.open = !narrow.matches;
  menu.scrollTop = menu.querySelector('[aria-current]').offsetTop - menu.clientHeight / 2;
}

function linkTarget(link) {
  return decodeURIComponent(link.hash.slice(1));
}

function chosenArticle() {
  const named = document.getElementById(linkTarget(location));
  return articles.find((article) => article === named);
}

async function send(request) {
  sending.abort();
  const controller = new AbortController();
  sending = controller;
  answer.reset('Sent; waiting for the response.');
  form.busy = true;
  reveal(answerElement);
  const result = await exchange(request, (soFar) => sending === controller && answer.update(soFar), controller.signal);
  if (sending !== controller) return;
  form.busy = false;
  answer.show(request, result);
  reveal(answerElement);
}

/** Scrolls to what begins off the screen, or in its lower half. */
function reveal(element) {
  const { top } = element.getBoundingClientRect();
  if (top < 0 || top > document.documentElement.clientHeight / 2) element.scrollIntoView();
}

/** The requests of the buttons that fill one in. */
const requests = new Map();

/** Gives a line its buttons. */
function addButtons(item) {
  const text = item.querySelector('code').textContent;
  const bar = document.createElement('p');
  bar.className = 'buttons';
  const request = readLine(text);
  if (request !== undefined) {
    const button = addButton(bar, 'Try', text);
    button.classList.add('try');
    requests.set(button, request);
    button.addEventListener('click', () => {
      form.fill(request);
      formElement.requestSubmit();
    });
  }
  if (navigator.clipboard !== undefined) {
    const button = addButton(bar, 'Copy', text);
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(text);
      button.firstChild.data = 'Copied';
    });
  }
  item.append(bar);
}

function addButton(bar, name, line) {
  const button = Object.assign(document.createElement('button'), { type: 'button', className: 'quiet', textContent: name });
  const about = Object.assign(document.createElement('span'), { className: 'unseen', textContent: `: ${line}` });
  button.append(about);
  bar.append(button);
  return button;
}

for (const item of main.querySelectorAll('.lines li')) addButtons(item);
formElement.elements.stop.addEventListener('click', () => sending.abort());
narrow.addEventListener('change', () => (menu.open = !narrow.matches));
addEventListener('hashchange', () => {
  const article = chosenArticle();
  if (article === undefined) return;
  choose(article);
  article.querySelector('h3').focus();
});

document.documentElement.classList.add('console');
choose(chosenArticle() ?? articles.find(({ dataset }) => dataset.path !== location.pathname));
