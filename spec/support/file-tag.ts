/** The tag of a file as waypost has it, strong, of one that Express has weak; other tags as they are. */
export function strongFileTag(tag: string): string {
  return tag.replace(/^W\/(?="[\da-f]+-[\da-f]{10,12}"$)/, '');
}
