/**
 * True if Node behaves in a way that its documentation does not promise. The trial runs on
 * throw-away objects when the file that rests on it is loaded; if it fails or throws, that file
 * goes Node's documented way. The objects are few, and of two classes in all: V8 keeps in mind of
 * up to four which classes Node's constructors have made, and a request of one more takes longer.
 * @param name The file's. Specs and the benchmark replace this function, to switch one off by its
 * name.
 */
export function holds(_name: string, trial: () => boolean): boolean {
  try {
    return trial();
  } catch {
    return false;
  }
}
