import type { ResponseSchemas, Schema } from './route-options';
import type { RequestPart } from './validation-error';

/** Key of the contract of a function that checks requests. */
export const kContract = Symbol('waypost.handler.contract');

/** A contract as its options give it: what a route takes and answers. */
export interface Contract extends Readonly<Partial<Record<Exclude<RequestPart, 'body'>, Schema>>> {
  /** False where the body is left on the stream. */
  readonly body: Schema | false | undefined;
  readonly response: ResponseSchemas | undefined;
  /** Status of a request that fails. */
  readonly errorStatus: number;
  /** In bytes. */
  readonly bodyLimit: number | undefined;
  /** In milliseconds. */
  readonly timeout: number | undefined;
  readonly summary: string | undefined;
  readonly tags: readonly string[] | undefined;
  readonly deprecated: boolean;
}

/** A function that may have a contract. */
export interface Contracted {
  readonly [kContract]?: Contract;
}
