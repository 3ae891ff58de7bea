/** A part of a form: text, or a file of that name and type. */
export type Part = readonly [name: string, value: string] | readonly [name: string, value: Uint8Array | string, file: string, type?: string];

const BOUNDARY = '----the-boundary-of-a-form';

/** Content-Type of {@link multipart}'s bodies. */
export const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

/** A form as a browser sends it (RFC 7578). */
export function multipart(parts: readonly Part[]): Buffer {
  const pieces = parts.flatMap(([name, value, file, type = 'application/octet-stream']) => {
    const about = file === undefined ? '' : `; filename="${file}"\r\nContent-Type: ${type}`;
    return [Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${about}\r\n\r\n`), Buffer.from(value), Buffer.from('\r\n')];
  });
  return Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}
