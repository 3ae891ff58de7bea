import type { Logger } from '../logger';
import type { ResolvedSecurity, ResolvedSignature } from '../options';
import type { PathRules } from '../routing/path';
import { HmacScheme } from './hmac-scheme';
import { SignatureHook } from './hook';
import { MessageSignatureScheme } from './message-signature';
import type { SignatureScheme } from './scheme';
import { SignatureScope } from './scope';
import { secretSource } from './secret-source';
import { WebhookScheme } from './webhook';

/**
 * The hooks that the options of `security` ask for: one for each webhook, and
 * one for `requestSignature`. A path of a webhook is taken out of the latter's
 * scope: what is exempt there must be spelt exactly as the webhook's path, and
 * that the webhook's own hook covers in every spelling.
 *
 * @param rules How the router compares paths.
 */
export function signatureHooks(security: ResolvedSecurity, rules: PathRules, logger: Logger): readonly SignatureHook[] {
  const { requestSignature, includeRoutes, excludeRoutes, webhooks } = security;
  const hooks: SignatureHook[] = [];
  if (requestSignature !== undefined) {
    const { debug, replay } = requestSignature;
    const scope = new SignatureScope(includeRoutes, [...excludeRoutes, ...webhooks.map(({ path }) => path)], rules);
    hooks.push(new SignatureHook({ scheme: schemeOf(requestSignature), scope, debug, store: replay?.store }, logger));
  }
  for (const webhook of webhooks) {
    const scope = new SignatureScope([webhook.path], [], rules);
    hooks.push(new SignatureHook({ scheme: new WebhookScheme(webhook), scope, debug: webhook.debug, store: undefined }, logger));
  }
  return hooks;
}

function schemeOf(config: ResolvedSignature): SignatureScheme {
  const source = secretSource(config.secret);
  return config.version === 2 ? new MessageSignatureScheme(config, source) : new HmacScheme(config, source);
}
