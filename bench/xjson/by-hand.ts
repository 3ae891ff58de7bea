import { Blocks } from '../../lib/xjson/blocks';
import { encodeBigInt, encodeLiteral, encodeNumber, encodeString } from '../../lib/xjson/encode';
import type { Page } from '../../lib/xjson/page';
import type { Row } from './data';

/** The properties of a row, in their order. */
const NAMES = ['id', 'name', 'email', 'active', 'score', 'balance', 'tags', 'address', 'created'];

/** What V8 then knows of a row: where each property is. */
interface KnownRow {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly active: boolean;
  readonly score: number;
  readonly balance: bigint;
  readonly tags: readonly string[];
  readonly address: { readonly city: string; readonly zip: string };
  readonly created: string;
}

/**
 * The bytes of rows with a BigInt in each, by a writer that is made for these
 * rows and for no others. That it is such a row it still has to see. It does not
 * look whether a string is the one of the row before, as the serializer does.
 */
export function bytesByHand(rows: readonly Row[]): Buffer {
  const out = new Blocks(true);
  encodeLiteral(out, '[');
  for (const [index, row] of rows.entries()) {
    if (index > 0) encodeLiteral(out, ',');
    if (!isKnown(row)) throw new Error('these are other rows');
    writeRow(out, row as unknown as KnownRow);
    if (out.at >= out.limit) out.turn();
  }
  encodeLiteral(out, ']');
  return out.whole();
}

function isKnown(row: Row): boolean {
  let index = 0;
  for (const name in row) {
    if (name !== NAMES[index++]) return false;
  }
  return index === NAMES.length && typeof row['toJSON'] !== 'function' && typeof row['balance'] === 'bigint';
}

function writeRow(out: Page, row: KnownRow): void {
  encodeLiteral(out, '{"id":');
  encodeNumber(out, row.id);
  encodeLiteral(out, ',"name":');
  encodeString(out, row.name);
  encodeLiteral(out, ',"email":');
  encodeString(out, row.email);
  encodeLiteral(out, row.active ? ',"active":true,"score":' : ',"active":false,"score":');
  encodeNumber(out, row.score);
  encodeLiteral(out, ',"balance":"');
  if (!encodeBigInt(out, row.balance)) throw new Error('a balance has more than 64 bits');
  encodeLiteral(out, '","tags":[');
  for (let i = 0; i < row.tags.length; i++) {
    if (i > 0) encodeLiteral(out, ',');
    encodeString(out, row.tags[i] as string);
  }
  encodeLiteral(out, '],"address":{"city":');
  encodeString(out, row.address.city);
  encodeLiteral(out, ',"zip":');
  encodeString(out, row.address.zip);
  encodeLiteral(out, '},"created":');
  encodeString(out, row.created);
  encodeLiteral(out, '}');
}
