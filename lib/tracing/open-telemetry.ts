/**
 * By these OpenTelemetry's packages find each other, whatever copies of them a
 * program has: the API of version 1, and what its http instrumentation keeps in
 * the context of a request.
 */
const API = Symbol.for('opentelemetry.js.api.1');
const RPC_METADATA = Symbol.for('OpenTelemetry SDK Context Key RPC_METADATA');

interface ContextApi {
  active(): { getValue(key: symbol): unknown };
}

interface Global {
  readonly [API]?: { readonly context?: unknown };
}

/** What the http instrumentation makes the name and the attribute `http.route` of a request's span of, when the response ends. */
export interface RpcMetadata {
  route?: string;
}

/** Whether an SDK of OpenTelemetry has been started in this process. */
export function hasOpenTelemetry(): boolean {
  return (globalThis as Global)[API]?.context !== undefined;
}

/** Of the request that is served now; undefined where nobody instruments it. */
export function rpcMetadata(): RpcMetadata | undefined {
  try {
    // The manager that the SDK has registered; the API's own methods are but a way to it.
    const manager = (globalThis as Global)[API]?.context as ContextApi | undefined;
    const found = manager?.active().getValue(RPC_METADATA);
    return typeof found === 'object' && found !== null ? found : undefined;
  } catch {
    // Another thing by that name: no request may fail for it.
    return undefined;
  }
}
