import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { Unchecked } from '../http/unchecked';
import type { Params } from './pattern';

/**
 * Goes on with the walk: `next()` to what is registered below, `next('route')`
 * past the rest of this route's handlers, `next('router')` out of this mount
 * of the router, `next(error)` to the error middleware below.
 */
export type NextFunction = (error?: unknown) => void;

/** A handler of a route, or middleware (INTERFACE sections 1 and 4.1). May be async; a rejection is an error. */
export type Handler<P = Params, ResBody = Unchecked, ReqBody = Unchecked, Query = Record<string, Unchecked>, Locals extends object = Record<string, Unchecked>> =
  (req: Request<P, ResBody, ReqBody, Query, Locals>, res: Response<ResBody, Locals>, next: NextFunction) => unknown;

/** Error middleware: told from a handler by its four parameters, as in Express. */
export type ErrorHandler<P = Params, ResBody = Unchecked, ReqBody = Unchecked, Query = Record<string, Unchecked>, Locals extends object = Record<string, Unchecked>> =
  (error: Unchecked, req: Request<P, ResBody, ReqBody, Query, Locals>, res: Response<ResBody, Locals>, next: NextFunction) => unknown;

/**
 * Middleware that is typed for another framework, such as a package of Express.
 * What it needs of req and res is there. Any function is one; it is described
 * without a signature, so that handlers written beside it get their types from
 * {@link Handler}.
 */
export type ForeignHandler = Pick<CallableFunction, 'apply' | 'bind' | 'call'>;

/** Handlers of waypost and of other frameworks, and arrays of them. */
export type MixedHandlers<P = Params> = Handler<P> | ForeignHandler | readonly MixedHandlers<P>[];

/** What a registration takes: handlers, error handlers, and arrays of them. */
export type Handlers<P = Params> = Handler<P> | ErrorHandler<P> | readonly Handlers<P>[];

/** A path as it is registered: a pattern, or an expression. */
export type Path = string | RegExp;

/** A path, or several of which the first that matches counts. */
export type Paths = Path | readonly Path[];

/**
 * The parameters that a pattern captures, worked out by the compiler:
 * `PathParams<'/u/:id/**'>` is `{ id: string; '**': string }`. Of several
 * patterns, what only some of them capture may be undefined.
 */
export type PathParams<Given extends Path> = [Given] extends [string]
  ? string extends Given ? Params : { [Key in NamesOf<Given>]: Key extends keyof Captured<Given> ? string : string | undefined }
  : Params;

type NamesOf<Path extends string> = Path extends string ? Names<Bare<Unescaped<Path>>> : never;

/** One member for each of several patterns, so that `keyof` gives what all of them capture. */
type Captured<Path extends string> = Path extends string ? Record<NamesOf<Path>, string> : never;

/** Each escaped character as a point, which is no part of a name. */
type Unescaped<Text extends string> = Text extends `${infer Head}\\${infer Tail}` ? `${Head}.${Tail extends `${string}${infer Rest}` ? Unescaped<Rest> : ''}` : Text;

/** Each constraint as a point. */
type Bare<Text extends string> = Text extends `${infer Head}(${infer Tail}` ? `${Head}.${Bare<AfterConstraint<Tail>>}` : Text;

type AfterConstraint<Text extends string, Open extends 0[] = [], InClass extends boolean = false> = Text extends `${infer First}${infer Rest}`
  ? InClass extends true ? AfterConstraint<Rest, Open, First extends ']' ? false : true>
    : First extends '[' ? AfterConstraint<Rest, Open, true>
      : First extends '(' ? AfterConstraint<Rest, [...Open, 0]>
        : First extends ')' ? Open extends [0, ...infer Outer extends 0[]] ? AfterConstraint<Rest, Outer> : Rest
          : AfterConstraint<Rest, Open>
  : '';

type Names<Path extends string> = Path extends `${infer Head}/${infer Tail}` ? SegmentNames<Head> | Names<Tail> : SegmentNames<Path>;

type SegmentNames<Text extends string> = Text extends '*' | '**' ? Text : Text extends `${string}:${infer Rest}` ? NameOf<Rest> | SegmentNames<Rest> : never;

type NameOf<Text extends string, Name extends string = ''> = Text extends `${infer First}${infer Rest}`
  ? First extends NameEnd ? Name : NameOf<Rest, `${Name}${First}`>
  : Name;

type NameEnd = '-' | '.' | ')' | ':' | '~' | ',' | ';' | '@' | '!' | '&' | '=' | "'" | '"' | '%' | ' ' | '|' | '[' | ']' | '^' | '`' | '<' | '>';
