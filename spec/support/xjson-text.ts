import { Chunks } from '../../lib/http/chunks';
import type { XJsonOptions } from '../../lib/xjson/options';
import { Serializer } from '../../lib/xjson/serializer';

/** What a response would hold. With a size of its pieces, in values, the work stops after every one. */
export function serialize(data: unknown, options: XJsonOptions = {}, piece?: number): string {
  const out = new Chunks(true);
  const serializer = new Serializer(data, options, out, piece);
  while (!serializer.run(piece === undefined ? Infinity : -Infinity));
  return serializer.text ?? out.take(out.length).toString();
}
