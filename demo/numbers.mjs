import { Router } from 'waypost';

/** What JSON.stringify refuses, and what is too large to send in one piece. */
export const numbers = Router();

const MOST_ROWS = 50_000;

numbers.get('/bigint', (req, res) => {
  res.xJson({ grains: 2n ** 64n - 1n, squares: [1n, 2n, 4n] });
});

numbers.get('/cycle', (req, res) => {
  const ridge = { name: 'ridge' };
  ridge.summit = { name: 'summit', on: ridge };
  res.xJson(ridge);
});

numbers.get('/limits', (req, res) => {
  res.xJson({ text: 'a long way to the top', a: { b: { c: 'too deep' } } }, { maxDepth: 2, truncateStrings: 7 });
});

// Plain res.json answers 500 here; with .xJson after the path the same handler is served.
numbers.get('/refused', (req, res) => {
  res.json({ grains: 2n ** 64n - 1n });
});

numbers.get('/stream', (req, res) => {
  const rows = Math.min(Number(req.query.rows) || MOST_ROWS, MOST_ROWS);
  res.xJson(Array.from({ length: rows }, (_, index) => ({ row: index, square: BigInt(index) ** 2n, text: 'step by step along the long path' })));
});

// body.bigint keeps the digits that JSON.parse would round away.
numbers.post('/echo', (req, res) => {
  res.xJson({ received: req.body, type: typeof req.body?.n });
});

export const examples = {
  'GET /numbers/bigint': {
    about: 'Big integers become strings of their digits.',
    lines: [{ status: 200, text: "curl -i '{origin}/numbers/bigint'" }],
  },
  'GET /numbers/cycle': {
    about: 'A circular reference is marked.',
    lines: [{ status: 200, text: "curl -i '{origin}/numbers/cycle'" }],
  },
  'GET /numbers/limits': {
    about: 'maxDepth and truncateStrings, given with the call.',
    lines: [{ status: 200, text: "curl -i '{origin}/numbers/limits'" }],
  },
  'GET /numbers/refused': {
    about: 'Plain res.json cannot write a big integer.',
    lines: [
      { status: 500, text: "curl -i '{origin}/numbers/refused'" },
      { status: 200, text: "curl -i '{origin}/numbers/refused.xJson'", about: 'The suffix turns res.json into res.xJson for this request.' },
    ],
  },
  'GET /numbers/stream': {
    about: 'Some megabytes, sent in chunks as the client takes them, with their length known ahead.',
    live: true,
    lines: [
      { status: 200, text: "curl -s -D - -o /dev/null '{origin}/numbers/stream'", about: 'Shows the headers and drops the body.' },
      { status: 200, text: "curl -i '{origin}/numbers/stream?rows=3'" },
    ],
  },
  'POST /numbers/echo': {
    about: 'A JSON body with an integer beyond 2^53 arrives as a BigInt.',
    lines: [{ status: 200, text: `curl -i -H 'Content-Type: application/json' -d '{"n":12345678901234567890}' '{origin}/numbers/echo'` }],
  },
};
