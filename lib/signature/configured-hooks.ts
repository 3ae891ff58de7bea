import type { SafeLog } from '../log/safe-log';
import type { ResolvedOptions } from '../options/resolved';
import { Path, type PathRules } from '../routing/patterns/path';
import { parsePattern, Pattern } from '../routing/patterns/pattern';
import type { Segment } from '../routing/patterns/segment';
import { HmacScheme } from './v1/hmac-scheme';
import { SignatureHook } from './hook';
import { MessageSignatureScheme } from './v2/message-signature';
import { SignatureScope } from './scope/scope';
import { coarseSegments, LOOSE, shapeOf, withoutEmpty } from './scope/scope-entry';
import { WebhookScheme } from './webhook/webhook';

/**
 * The hooks that the options of `security` ask for: one for each webhook, and
 * one for `requestSignature`. A path of a webhook is taken out of the latter's
 * scope: what is exempt there must be spelt exactly as the webhook's path, and
 * that the webhook's own hook covers in every spelling.
 */
export function signatureHooks({ hints, routing: rules, security }: ResolvedOptions, logger: SafeLog): readonly SignatureHook[] {
  const { requestSignature, includeRoutes, excludeRoutes, webhooks } = security;
  const hooks: SignatureHook[] = [];
  let own: SignatureHook | undefined;
  if (requestSignature !== undefined) {
    const scope = new SignatureScope(includeRoutes, [...excludeRoutes, ...webhooks.map(({ path }) => path)], rules);
    const scheme = requestSignature.version === 2 ? new MessageSignatureScheme(requestSignature) : new HmacScheme(requestSignature);
    own = new SignatureHook(scheme, scope, { ...requestSignature, hints }, logger);
    hooks.push(own);
  }
  refuseOverlaps(webhooks.map(({ path }) => path));
  for (const webhook of webhooks) {
    if (own !== undefined && plainPaths(webhook.path, rules).some((path) => own.scope.requires('POST', path))) {
      throw new TypeError(
        `security.webhooks: a request to ${JSON.stringify(webhook.path)} would have to pass security.requestSignature as well; `
        + 'write the path plainly: ASCII, nothing encoded, no empty or dot segment, no slash or ".xJson" at its end',
      );
    }
    hooks.push(new SignatureHook(new WebhookScheme(webhook), new SignatureScope([webhook.path], [], rules), { ...webhook, hints }, logger));
  }
  return hooks;
}

/** What a pattern is without parameters: as written where it is one path. */
function plainPaths(pattern: string, rules: PathRules): string[] {
  const paths = parsePattern(pattern, rules);
  return paths.filter(({ bare }) => bare).map(({ segments }) => {
    return paths.length === 1 ? pattern : `/${segments.map((segment) => (segment.kind === 'static' ? segment.text : '')).join('/')}`;
  });
}

/** A request to a path of two webhooks would have to be signed both ways. */
function refuseOverlaps(paths: readonly string[]): void {
  const read = paths.map((path) => parsePattern(path, LOOSE).map(({ segments }) => withoutEmpty(coarseSegments(segments))));
  read.forEach((later, index) => {
    const earlier = read.findIndex((other, at) => at < index && other.some((a) => later.some((b) => overlap(a, b))));
    if (earlier === -1) return;
    const [given, other] = [JSON.stringify(paths[index]), JSON.stringify(paths[earlier])];
    throw new TypeError(
      `security.webhooks[${index}].path must have no path in common with another webhook, and ${given} has with ${other}: `
      + 'a request to it would have to be signed both ways; give each a path of its own, which differs in more than case or slashes',
    );
  });
}

/**
 * Whether some path is in the scope of both patterns. As in the scope, the `**`
 * at the end may stand for nothing. Of two segments that both have parts or
 * constraints it can't be told unless they are alike; they are taken to be
 * apart, and a request that is both is refused when it comes.
 */
function overlap(a: readonly Segment[], b: readonly Segment[]): boolean {
  const [first, ...rest] = a;
  const [other, ...others] = b;
  if (first === undefined && other === undefined) return true;
  if (other?.kind === 'deep' && first?.kind !== 'deep') return overlap(b, a);
  if (first?.kind === 'deep') {
    if (rest.length === 0 && overlap(rest, b)) return true;
    if (other === undefined) return false;
    // One segment of the path is the `**`'s; it may be the last of it, or not.
    return overlap(rest, others) || overlap(a, others) || (other.kind === 'deep' && overlap(rest, b));
  }
  return first !== undefined && other !== undefined && meet(first, other) && overlap(rest, others);
}

/** Whether one segment of a path may be both. */
function meet(a: Segment, b: Segment): boolean {
  if (a.kind === 'param' || b.kind === 'param') return true;
  if (a.kind === 'static') return new Pattern('', [b]).matches(new Path(`/${a.text}`, LOOSE));
  if (b.kind === 'static') return meet(b, a);
  return shapeOf(a) === shapeOf(b);
}
