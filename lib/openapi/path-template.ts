import type { Segment } from '../routing/patterns/segment';

/** A path of an OpenAPI document. */
export interface PathTemplate {
  /** The path, such as `/orders/{id}`. */
  readonly path: string;
  /** Its parameters in order, with the expression that constrains them. */
  readonly params: readonly { readonly name: string; readonly pattern: string | undefined }[];
}

/** The template of a pattern's segments; undefined for one that takes any number of them. */
export function templateOf(segments: readonly Segment[]): PathTemplate | undefined {
  const params: { name: string; pattern: string | undefined }[] = [];
  let path = '';
  const names = segments.flatMap((segment) => (segment.kind === 'param' ? segment.name : segment.kind === 'mixed' ? segment.parts.flatMap((part) => (part.kind === 'text' ? [] : part.name)) : []));
  const write = (given: string, constraint?: string): string => {
    // A template names each once. Of a mount path's and a route's with one name the request has the route's.
    let name = given;
    for (let at = params.length; names.includes(name, params.length + 1); at++) name = `${given}_${at}`;
    params.push({ name, pattern: constraint === undefined ? undefined : `^(?:${constraint})$` });
    return `{${name}}`;
  };
  for (const segment of segments) {
    if (segment.kind === 'deep' || segment.kind === 'tail') return undefined;
    if (segment.kind === 'static') path += `/${segment.text}`;
    else if (segment.kind === 'param') path += `/${write(segment.name)}`;
    else path += `/${segment.parts.map((part) => (part.kind === 'text' ? part.text : write(part.name, part.constraint))).join('')}`;
  }
  return { path: path === '' ? '/' : path, params };
}
