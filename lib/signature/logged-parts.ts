import { crypto } from '../packages';

/** A body as the log may show it: how long it is, and which. */
export function bodyParts(body: Uint8Array = new Uint8Array(0)): { readonly bytes: number; readonly sha256: string } {
  return { bytes: body.length, sha256: sha256(body) };
}

export function sha256(data: string | Uint8Array): string {
  return crypto().createHash('sha256').update(data).digest('hex');
}
