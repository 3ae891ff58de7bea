import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** Status and fields of a response. */
export interface Head {
  readonly status: number;
  readonly fields: OutgoingHttpHeaders;
}

export function headOf(res: ServerResponse): Head {
  const fields = res.getHeaders();
  // Node appends to the very list.
  for (const [name, value] of Object.entries(fields)) if (Array.isArray(value)) fields[name] = [...value];
  return { status: res.statusCode, fields };
}

function isSame(one: OutgoingHttpHeader | undefined, other: OutgoingHttpHeader | undefined): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other;
  return one.length === other.length && one.every((each, index) => each === other[index]);
}

/** Restores a response's head, but for what has changed since it was made. */
export function takeBack(res: ServerResponse, before: Head, made: Head): void {
  if (res.statusCode === made.status) res.statusCode = before.status;
  for (const [name, value] of Object.entries(made.fields)) {
    const old = before.fields[name];
    // 416 says with Content-Range how long the file is (RFC 9110 section 15.5.17).
    if (isSame(value, old) || name === 'content-range' || !isSame(value, res.getHeader(name))) continue;
    if (old === undefined) res.removeHeader(name);
    else res.setHeader(name, old);
  }
}
