#!/usr/bin/env bash
# Readers of server-sent events against the HTML standard. event-source-plus 0.1.15 keeps the last of several `data` lines, so a text with a line
# break loses its start. @microsoft/fetch-event-source 2.0.1 calls `onmessage` with an empty text for each comment, such as a heartbeat, which
# `JSON.parse` then refuses. parse-sse 0.1.0 hands over an event that the connection has cut off before its empty line. fetch-event-stream 0.1.6
# and event-source-plus take off all spaces in front of a text, where the standard takes off one. eventsource-parser 3.1.1 reads all four right.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @microsoft/fetch-event-source@2.0.1 event-source-plus@0.1.15 eventsource-parser@3.1.1 fetch-event-stream@0.1.6 parse-sse@0.1.0 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';
import { fetchEventSource } from '@microsoft/fetch-event-source';
import { EventSourcePlus } from 'event-source-plus';
import { createParser } from 'eventsource-parser';
import { events } from 'fetch-event-stream';
import { parseServerSentEvents } from 'parse-sse';

const texts = { '/lines': 'data: a\ndata: b\n\n', '/comment': ': beat\n\ndata: a\n\n', '/cut': 'data: a\n\ndata: b\n', '/spaces': 'data:   a\n\n' };
const server = http.createServer((req, res) => res.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(texts[req.url]));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
// The package is written for pages.
Object.assign(globalThis, { window: globalThis, document: { addEventListener() {}, removeEventListener() {}, hidden: false } });
const all = async (source) => {
  const seen = [];
  for await (const { data } of source) seen.push(data);
  return seen;
};
const readers = {
  'eventsource-parser': async (url) => {
    const seen = [];
    const parser = createParser({ onEvent: ({ data }) => seen.push(data) });
    parser.feed(await (await fetch(url)).text());
    return seen;
  },
  '@microsoft/fetch-event-source': async (url) => {
    const seen = [];
    await fetchEventSource(url, { openWhenHidden: true, onmessage: ({ data }) => seen.push(data), onerror: (error) => { throw error; } });
    return seen;
  },
  'event-source-plus': (url) => new Promise((resolve) => {
    const seen = [];
    const controller = new EventSourcePlus(url).listen({
      onMessage: ({ data }) => seen.push(data),
      onRequest: () => {
        if (seen.length === 0) return;
        controller.abort();
        resolve(seen);
      },
    });
  }),
  'fetch-event-stream': async (url) => all(events(await fetch(url))),
  'parse-sse': async (url) => all(parseServerSentEvents(await fetch(url))),
};
for (const [name, read] of Object.entries(readers)) {
  for (const path of Object.keys(texts)) console.log(`${name} ${path}: ${JSON.stringify(await read(origin + path))}`);
}
process.exit();
JS
node program.mjs | tee output
cat >expected <<'TEXT'
eventsource-parser /lines: ["a\nb"]
eventsource-parser /comment: ["a"]
eventsource-parser /cut: ["a"]
eventsource-parser /spaces: ["  a"]
@microsoft/fetch-event-source /lines: ["a\nb"]
@microsoft/fetch-event-source /comment: ["","a"]
@microsoft/fetch-event-source /cut: ["a"]
@microsoft/fetch-event-source /spaces: ["  a"]
event-source-plus /lines: ["b"]
event-source-plus /comment: ["a"]
event-source-plus /cut: ["a"]
event-source-plus /spaces: ["a"]
fetch-event-stream /lines: ["a\nb"]
fetch-event-stream /comment: ["a"]
fetch-event-stream /cut: ["a"]
fetch-event-stream /spaces: ["a"]
parse-sse /lines: ["a\nb"]
parse-sse /comment: ["a"]
parse-sse /cut: ["a","b"]
parse-sse /spaces: ["  a"]
TEXT
diff output expected
