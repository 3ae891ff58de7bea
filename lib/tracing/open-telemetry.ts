/**
 * Keys by which copies of OpenTelemetry's packages find each other: the API of
 * version 1, and the metadata that its http instrumentation keeps in the context
 * of a request.
 */
const API_KEY = Symbol.for('opentelemetry.js.api.1');
const RPC_METADATA_KEY = Symbol.for('OpenTelemetry SDK Context Key RPC_METADATA');

interface Global {
  readonly [API_KEY]?: { readonly context?: { active(): { getValue(key: symbol): unknown } } };
}

/** Metadata for a request's span: its name and attribute `http.route`, read when the response ends. */
export interface RpcMetadata {
  route?: string;
}

/** Returns true when an SDK of OpenTelemetry has been started in this process. */
export function hasOpenTelemetry(): boolean {
  return (globalThis as Global)[API_KEY]?.context !== undefined;
}

/** Metadata of the current request; undefined where nothing instruments it. */
export function rpcMetadata(): RpcMetadata | undefined {
  // The context manager that the SDK has registered; the API's own methods only forward to it.
  return (globalThis as Global)[API_KEY]?.context?.active().getValue(RPC_METADATA_KEY) as RpcMetadata | undefined;
}
