const encoder = new TextEncoder();

/** Whether this page may sign: browsers offer WebCrypto to https and localhost alone. */
export const canSign = globalThis.crypto?.subtle !== undefined;

/** What is signed, in this order and with nothing in between. */
export function signedParts({ method, target, body = '' }, timestamp) {
  return [method, target, body, String(timestamp)];
}

/** The two header fields that sign a request, as `signRequest` of waypost makes them. */
export async function sign(secret, request, timestamp = Date.now()) {
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const digest = await crypto.subtle.sign('HMAC', key, encoder.encode(signedParts(request, timestamp).join('')));
  const hexadecimal = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [['Svc-Request-Sig', hexadecimal], ['X-Timestamp', String(timestamp)]];
}
