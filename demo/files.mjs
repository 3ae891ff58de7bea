import { fileURLToPath } from 'node:url';
import { Router } from 'waypost';

const root = fileURLToPath(new URL('files', import.meta.url));

/** Files of one directory, and nothing outside of it. */
export const files = Router();

files.get('/**', (req, res) => {
  res.sendFile(req.params['**'], { root });
});

export const examples = {
  'GET /files/**': {
    about: 'Files beneath one directory, with ranges and conditional requests.',
    lines: [
      { status: 200, text: "curl -i '{origin}/files/walk.txt'" },
      { status: 206, text: "curl -i -r 0-15 '{origin}/files/walk.txt'", about: 'The first sixteen bytes.' },
      { status: 416, text: "curl -i -r 9000- '{origin}/files/walk.txt'", about: 'A range beyond the end.' },
      { status: 304, text: "curl -i -H 'If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT' '{origin}/files/walk.txt'", about: 'Not modified since.' },
      { status: 404, text: "curl -i '{origin}/files/nowhere.txt'" },
      { status: 403, text: "curl -i --path-as-is '{origin}/files/../server.mjs'", about: 'Outside of the directory.' },
    ],
  },
};
