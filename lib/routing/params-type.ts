import type { Path } from './given-path';
import type { Params } from './patterns/params';

/**
 * The parameters that a pattern captures, worked out by the compiler:
 * `PathParams<'/u/:id/**'>` is `{ id: string; '**': string }`, and
 * `PathParams<'/f/*path{.:ext}'>` is `{ path: string[]; ext?: string }`. A
 * parameter of some of several patterns may be undefined.
 */
export type PathParams<Given extends Path> = [Given] extends [string] ? string extends Given ? Params : Typed<Given> : Params;

type Typed<Given extends string> = Flat<
  { [Name in Exclude<CommonTo<Given>, OptionalIn<Given>>]: ValueOf<Given, Name> }
  & { [Name in CommonTo<Given> & OptionalIn<Given>]?: ValueOf<Given, Name> }
  & { [Name in Exclude<NamesIn<Given>, CommonTo<Given>>]: ValueOf<Given, Name> | undefined }
>;

type Flat<Type> = { [Key in keyof Type]: Type[Key] };

/** A name, the type of its value, and true for one in an optional part. */
type Capture<Name extends string = string> = [name: Name, value: string | string[], optional: boolean];

type CapturesOf<Given extends string> = Given extends string ? Scan<Given> : never;
type NamesIn<Given extends string> = CapturesOf<Given>[0];
type OptionalIn<Given extends string> = Extract<CapturesOf<Given>, [string, unknown, true]>[0];
type ValueOf<Given extends string, Name extends string> = Extract<CapturesOf<Given>, Capture<Name>>[1];
/** `keyof` of a union gives what all its members have. */
type CommonTo<Given extends string> = keyof (Given extends string ? { [Name in Scan<Given>[0]]: 0 } : never) & string;

/** Reads a pattern from left to right; `Open` has one member for each `{` that is open. */
type Scan<Text extends string, Open extends 0[] = [], Found extends Capture = never> =
  Text extends `\\${infer Rest}` ? Scan<Behind<Rest>, Open, Found>
    : Text extends `{${infer Rest}` ? Scan<Rest, [...Open, 0], Found>
      : Text extends `}${infer Rest}` ? Scan<Rest, Open extends [0, ...infer Outer extends 0[]] ? Outer : [], Found>
        : Text extends `:${infer Rest}` ? ScanName<Name<Rest>, string, Open, Found>
          : Text extends `**${infer Rest}` ? Scan<Rest, Open, Found | ['**', string, IsOpen<Open>]>
            : Text extends `*${infer Rest}` ? Name<Rest>[0] extends '' ? Scan<Rest, Open, Found | ['*', string, IsOpen<Open>]> : ScanName<Name<Rest>, string[], Open, Found>
              : Text extends `${string}${infer Rest}` ? Scan<Rest, Open, Found> : Found;

type ScanName<Read extends [string, string], Value extends string | string[], Open extends 0[], Found extends Capture> =
  Scan<BehindConstraint<Read[1]>, Open, Found | [Read[0], Value, IsOpen<Open>]>;

type IsOpen<Open extends 0[]> = Open extends [] ? false : true;

/** The name that a text begins with, and the text behind it. */
type Name<Text extends string> = Text extends `"${infer Quoted}"${infer Rest}` ? [Quoted, Rest] : PlainName<Text>;

type PlainName<Text extends string, Read extends string = ''> = Text extends `${infer First}${infer Rest}`
  ? First extends NameEnd ? [Read, Text] : PlainName<Rest, `${Read}${First}`>
  : [Read, ''];

type NameEnd = '/' | '\\' | '{' | '}' | '(' | '*' | '-' | '.' | ')' | ':' | '~' | ',' | ';' | '@' | '!' | '&' | '=' | "'" | '"' | '%' | ' ' | '|' | '[' | ']' | '^' | '`' | '<' | '>';

type Behind<Text extends string> = Text extends `${string}${infer Rest}` ? Rest : '';

type BehindConstraint<Text extends string> = Text extends `(${infer Rest}` ? AfterConstraint<Rest> : Text;

type AfterConstraint<Text extends string, Open extends 0[] = [], InClass extends boolean = false> = Text extends `${infer First}${infer Rest}`
  ? First extends '\\' ? AfterConstraint<Behind<Rest>, Open, InClass>
    : InClass extends true ? AfterConstraint<Rest, Open, First extends ']' ? false : true>
      : First extends '[' ? AfterConstraint<Rest, Open, true>
        : First extends '(' ? AfterConstraint<Rest, [...Open, 0]>
          : First extends ')' ? Open extends [0, ...infer Outer extends 0[]] ? AfterConstraint<Rest, Outer> : Rest
            : AfterConstraint<Rest, Open>
  : '';
