/** Fits a Range field for range-parser: a suffix longer than the representation becomes all of it (RFC 9110 section 14.1.2). @param size Of the representation, in bytes. */
export function fittedRange(field: string, size: number): string {
  return field.replaceAll(/(?<=[=,]\s*)-\s*(\d+)/g, (suffix, length) => (Number(length) > size ? `-${size}` : suffix));
}
