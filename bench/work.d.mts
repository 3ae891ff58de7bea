/** What the runner needs of work.mjs, to know what the peers must answer. */
export declare const BODY_LIMIT: number;
export declare const FILE_NAME: string;
export declare const PAGE: string;
export declare const TRANSPORT_SECURITY: string;
export declare const GREETING: object;
export declare const REQUEST_ID: string;
export declare const TOKEN: string;
export declare const UNSIGNED: object;
export declare const USER: { readonly id: number; readonly name: string };
export declare function certificate(): { readonly key: string; readonly cert: string };
export declare function fileDirectory(): string;
export declare function middlePath(count: number): string;
export declare function notFound(method: string, path: string): object;
export declare function order(count?: number): Order;
export declare function pathBelow(level: number): string;
export declare function rows(bytes: number, big: boolean): object[];
export declare function sign(method: string, target: string, body: string, at?: number): Record<string, string>;
export declare function summarize(order: Order): object;

interface Order {
  readonly id: string;
  readonly items: readonly { readonly price: number; readonly quantity: number }[];
}
