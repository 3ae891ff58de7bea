/** The most bytes that are taken in at a time. */
const PIECE = 65_536;

/**
 * Sends a request and reads its answer piece by piece.
 * @param watch Called with the exchange when the head has come and after each piece.
 * @param signal Stops it.
 * @returns The exchange, complete; `failure` says what kept it from that.
 */
export async function exchange({ method, target, fields, body, pace = 0 }, watch, signal) {
  const began = performance.now();
  const result = { response: undefined, pieces: 0, bytes: 0, head: 0, total: 0, text: '', newest: '', protocol: '', failure: undefined };
  try {
    // With no-store a browser also sends Cache-Control: no-cache, by which a server answers a conditional request in full.
    const cache = fields.some(([name]) => /^if-/i.test(name)) ? 'default' : 'no-store';
    const response = await fetch(location.origin + target, { method, headers: fields, body: body === '' ? undefined : body, cache, signal });
    result.response = response;
    result.head = performance.now() - began;
    watch(result);
    const decoder = new TextDecoder();
    for await (const piece of piecesOf(response)) {
      result.pieces++;
      result.bytes += piece.length;
      result.newest = decoder.decode(piece, { stream: true });
      result.text += result.newest;
      result.total = performance.now() - began;
      watch(result);
      if (pace > 0) await pause(pace, signal);
    }
    result.text += decoder.decode();
    result.protocol = protocolOf(response);
  } catch (error) {
    result.failure = error;
  }
  result.total = performance.now() - began;
  return result;
}

/** The protocol that the browser spoke, such as `HTTP/2`; empty where it does not tell. */
function protocolOf({ url }) {
  const { nextHopProtocol = '' } = performance.getEntriesByName(url, 'resource').at(-1) ?? {};
  performance.clearResourceTimings();
  return nextHopProtocol.replace(/^h(?=\d$)/, 'HTTP/').replace('http/', 'HTTP/');
}

async function* piecesOf({ body }) {
  if (body === null) return;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (let start = 0; start < value.length; start += PIECE) yield value.subarray(start, start + PIECE);
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal.addEventListener('abort', stop, { once: true });
  });
}
