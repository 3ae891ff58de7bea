// Signs what `fetch` sends, by WebCrypto. Copy this file, then:
//
//   const send = signedFetch(secret); // signedFetch(secret, 2) for a server of version 2
//   await send('/orders?rush=1', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"item":42}' });
//
// Whoever has the page has the secret: give each user one, as the server's `secret` by key id, and name it:
// signedFetch(secret, 1, keyId). For a server with public keys give a CryptoKey of Ed25519: signedFetch(key, 2, keyId).
// Browsers offer WebCrypto to https and localhost alone. In Node take signedFetch of waypost.

const encoder = new TextEncoder();

export function signedFetch(secret, version = 1, keyId = undefined) {
  const imported = typeof secret !== 'string' ? secret : crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return async (input, init) => {
    const url = new URL(input, globalThis.location?.href);
    // Not all versions of fetch send the `?` of an empty query.
    if (url.search === '') url.search = '';
    const request = new Request(url, init);
    // The bytes that are sent, whatever the body was given as.
    const body = new Uint8Array(await request.arrayBuffer());
    const key = await imported;
    const mac = async (...parts) => new Uint8Array(await crypto.subtle.sign(key.algorithm.name, key, await new Blob(parts).arrayBuffer()));
    const { method, headers } = request;
    if (version === 1) {
      const timestamp = String(Date.now());
      const signature = await mac(method.toUpperCase() + url.pathname + url.search, body, timestamp);
      headers.set('Svc-Request-Sig', Array.from(signature, (byte) => byte.toString(16).padStart(2, '0')).join(''));
      headers.set('X-Timestamp', timestamp);
      if (keyId !== undefined) headers.set('X-Key-Id', keyId);
    } else {
      await signMessage(method.toUpperCase(), url, headers, body, mac, keyId);
    }
    return fetch(url, { ...init, method: method.toUpperCase(), headers, redirect: 'error', ...(body.length > 0 && { body }) });
  };
}

/** Signs by RFC 9421. */
async function signMessage(method, { pathname, search }, headers, body, mac, keyId) {
  if (body.length > 0) headers.set('Content-Digest', `sha-256=:${base64(new Uint8Array(await crypto.subtle.digest('SHA-256', body)))}:`);
  const covered = { '@method': method, '@path': pathname, '@query': search || '?' };
  for (const name of ['content-digest', 'content-type', 'content-encoding']) {
    if (headers.has(name)) covered[name] = headers.get(name);
  }
  const names = Object.keys(covered).map((name) => `"${name}"`).join(' ');
  const parameters = `(${names});created=${Math.floor(Date.now() / 1000)};nonce="${crypto.randomUUID()}"${keyId === undefined ? '' : `;keyid="${keyId}"`}`;
  const lines = Object.entries({ ...covered, '@signature-params': parameters }).map(([name, value]) => `"${name}": ${value}`);
  headers.set('Signature-Input', `sig1=${parameters}`);
  headers.set('Signature', `sig1=:${base64(await mac(lines.join('\n')))}:`);
}

function base64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}
