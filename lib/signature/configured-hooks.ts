import type { SafeLog } from '../log/safe-log';
import type { ResolvedOptions } from '../options/resolved';
import { late } from '../packages';
import type { PathRules } from '../routing/patterns/path';
import { parsePattern } from '../routing/patterns/pattern';
import { HmacScheme } from './v1/hmac-scheme';
import { SignatureHook } from './hook';
import { SignatureScope } from './scope/scope';
import { coarseSegments, LOOSE, patternsOverlap, withoutEmpty } from './scope/scope-entry';

const
  version2 = late(() => require('./v2/message-signature') as typeof import('./v2/message-signature')),
  webhookSchemes = late(() => require('./webhook/webhook') as typeof import('./webhook/webhook'));

/**
 * The hooks that `security` configures: one for each webhook, and one for
 * `requestSignature`. A webhook's path is excluded from the latter's scope, in
 * its exact spelling; the webhook's own hook covers every spelling.
 */
export function signatureHooks({ errors, hints, routing: rules, security }: ResolvedOptions, logger: SafeLog): readonly SignatureHook[] {
  const { requestSignature, includeRoutes, excludeRoutes, webhooks } = security;
  const hooks: SignatureHook[] = [];
  let requestHook: SignatureHook | undefined;
  if (requestSignature !== undefined) {
    const scope = new SignatureScope(includeRoutes, [...excludeRoutes, ...webhooks.map(({ path }) => path)], rules);
    const scheme = requestSignature.version === 2 ? new (version2().MessageSignatureScheme)(requestSignature) : new HmacScheme(requestSignature);
    requestHook = new SignatureHook(scheme, scope, { ...requestSignature, errors, hints }, logger);
    hooks.push(requestHook);
  }
  refuseOverlaps(webhooks.map(({ path }) => path));
  for (const webhook of webhooks) {
    if (requestHook !== undefined && plainPaths(webhook.path, rules).some((path) => requestHook.scope.requires('POST', path))) {
      throw new TypeError(
        `security.webhooks: a request to ${JSON.stringify(webhook.path)} would have to pass security.requestSignature as well; `
        + 'write the path plainly: ASCII, nothing encoded, no empty or dot segment, no slash or ".xJson" at its end',
      );
    }
    hooks.push(new SignatureHook(new (webhookSchemes().WebhookScheme)(webhook), new SignatureScope([webhook.path], [], rules), { ...webhook, errors, hints }, logger));
  }
  return hooks;
}

/** The paths of a pattern that have no parameters; a single one as written. */
function plainPaths(pattern: string, rules: PathRules): string[] {
  const paths = parsePattern(pattern, rules);
  return paths.filter(({ capturesNothing }) => capturesNothing).map(({ segments }) => {
    return paths.length === 1 ? pattern : `/${segments.map((segment) => (segment.kind === 'static' ? segment.text : '')).join('/')}`;
  });
}

/** @throws TypeError for a path of two webhooks, which would need both signatures. */
function refuseOverlaps(paths: readonly string[]): void {
  const read = paths.map((path) => parsePattern(path, LOOSE).map(({ segments }) => withoutEmpty(coarseSegments(segments))));
  read.forEach((later, index) => {
    const earlier = read.findIndex((other, at) => at < index && other.some((a) => later.some((b) => patternsOverlap(a, b))));
    if (earlier === -1) return;
    const [path, other] = [JSON.stringify(paths[index]), JSON.stringify(paths[earlier])];
    throw new TypeError(
      `security.webhooks[${index}].path must have no path in common with another webhook, and ${path} has with ${other}: `
      + 'a request to it would have to be signed both ways; give each a path of its own, which differs in more than case or slashes',
    );
  });
}
