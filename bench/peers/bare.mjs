/** The floor: writes one answer that was made before, whatever is asked, and looks at nothing of the request. Told the file that holds the answer. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { certificate } from '../work.mjs';

const { secure, status, fields, body } = JSON.parse(readFileSync(process.argv[2], 'utf8'));

function answer(_req, res) {
  res.writeHead(status, fields);
  res.end(body);
}

const server = secure ? (await import('node:https')).createServer(certificate(), answer) : createServer(answer);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
