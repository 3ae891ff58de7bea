import { Editor } from './support/editor';

const PROGRAM = `
  import { |createServer|createServer, express, |Router|Router, type Request, type Response, |signRequest|signRequest } from 'waypost';
  const app = createServer({ security: { |requestSignature|requestSignature: { |secret|secret: 'x' } }, server: { |port|port: 3000 } });
  const [router, program] = [Router(), express()];
  declare const req: Request;
  declare const res: Response;
  app.|get|get('/:id', (req, res) => { res.|xJson|xJson({ id: req.params.|params|id }); });
  app.|use|use((req, res, next) => next());
  app.|route|route('/x').|routeGet|get((req, res) => { res.|json|json(req.|query|query); });
  router.|post|post('/', (req, res) => { res.|send|send(req.|body|body); });
  app.|start|start();
  [app.|app|close, router.|router|use, program.|program|use, req.|req|url, res.|res|json, app.route('/').|of|path];
  signRequest;
`;

const editor = new Editor(PROGRAM);

afterAll(() => editor.close());

test('the program is right', () => {
  expect(editor.errors()).toEqual([]);
});

test.each(['app', 'router', 'program', 'req', 'res', 'of'])('no member by a symbol of waypost is offered: %s', (mark) => {
  const names = editor.completions(mark);
  expect(names.length).toBeGreaterThan(30);
  // `Symbol` stands for those that JavaScript and Node have, such as Symbol.asyncIterator.
  expect(names.filter((name) => !/^[a-z_]/i.test(name) || /^k[A-Z]/.test(name))).toEqual([]);
});

test('nor has any public type one', () => {
  // One of JavaScript's own is no symbol of waypost.
  expect(editor.publicNames().map(({ name }) => name).filter((name) => name.includes('__@') && !name.includes('__@asyncDispose@'))).toEqual([]);
});

test('every public name says what it does', () => {
  const names = editor.publicNames();
  expect(names.length).toBeGreaterThan(400);
  // Of those in ERRORS the type shows status and message.
  expect(names.filter(({ name, text }) => text === '' && !name.startsWith('ERRORS.')).map(({ name }) => name)).toEqual([]);
});

test.each(['createServer', 'Router', 'get', 'use', 'xJson', 'requestSignature', 'signRequest', 'route', 'start'])('over %s, where a newcomer starts, there is an example', (mark) => {
  const { text, examples } = editor.hover(mark);
  expect(text.length).toBeGreaterThan(20);
  expect(examples.join('\n')).toMatch(/\w\(|: \{/);
});

test.each(['secret', 'port', 'routeGet', 'json', 'query', 'body', 'post', 'send'])('over %s it says what it does', (mark) => {
  expect(editor.hover(mark).text.length).toBeGreaterThan(20);
});
