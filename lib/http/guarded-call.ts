/** Calls a function of the program's, and hands on what it throws or rejects with. */
export function guardedCall(call: () => unknown, failed: (error: unknown) => void): void {
  void new Promise((resolve) => {
    resolve(call());
  }).catch(failed);
}
