import { DataWalk } from './data-walk';
import { checkXJsonOptions, type XJsonOptions } from './options';
import { Rules } from './rules';
import { Serializer } from './serializer';
import { wholeText } from './text';

/**
 * JSON text of any data, as `res.xJson` would send it (INTERFACE section 4.3):
 * what `JSON.stringify` gives where it can, else with a BigInt as a string, a
 * cycle as `"[Circular]"` and the limits of the options. What has no JSON form,
 * such as `undefined`, is `null`. Works in one go; `res.xJson` does not.
 *
 * @throws TypeError for a wrong option; RangeError for text longer than V8's
 * longest string; and what a getter, a `toJSON` or a proxy of the data throws.
 */
export function stringify(data: unknown, options?: XJsonOptions): string {
  const text = wholeText(data, Rules.of(options === undefined ? {} : checkXJsonOptions(options)), Infinity);
  if (!(text instanceof DataWalk)) return text ?? 'null';
  const parts: string[] = [];
  const serializer = new Serializer(data, options ?? {}, { add: (part) => parts.push(part), clear: () => parts.splice(0) });
  serializer.run(Infinity);
  // A getter may have returned less this time.
  return serializer.text ?? parts.join('');
}
