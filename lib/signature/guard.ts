import type { Logger } from '../logger';
import type { ResolvedSecurity, ResolvedSignature } from '../options';
import type { PathRules } from '../routing/path';
import { parsePattern } from '../routing/pattern';
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
  let own: SignatureHook | undefined;
  if (requestSignature !== undefined) {
    const { debug, replay } = requestSignature;
    const scope = new SignatureScope(includeRoutes, [...excludeRoutes, ...webhooks.map(({ path }) => path)], rules);
    own = new SignatureHook({ scheme: schemeOf(requestSignature), scope, debug, store: replay?.store }, logger);
    hooks.push(own);
  }
  for (const webhook of webhooks) {
    if (own?.requires('POST', webhook.path) === true && parsePattern(webhook.path, rules).bare) {
      throw new TypeError(
        `security.webhooks: a request to ${JSON.stringify(webhook.path)} would have to pass security.requestSignature as well; `
        + 'write the path plainly: ASCII, nothing encoded, no empty or dot segment, no slash or ".xJson" at its end',
      );
    }
    const scope = new SignatureScope([webhook.path], [], rules);
    hooks.push(new SignatureHook({ scheme: new WebhookScheme(webhook), scope, debug: webhook.debug, store: undefined }, logger));
  }
  return hooks;
}

function schemeOf(config: ResolvedSignature): SignatureScheme {
  const source = secretSource(config.secret);
  return config.version === 2 ? new MessageSignatureScheme(config, source) : new HmacScheme(config, source);
}
