/** Says on standard error what runs and how long is left. */
export class Progress {
  readonly #total: number;
  readonly #start = performance.now();
  #done = 0;

  /** @param total seconds that all steps are thought to take. */
  constructor(total: number) {
    this.#total = total;
  }

  /** Announces a step. @param seconds that it is thought to take. */
  step(label: string, seconds: number): void {
    const elapsed = (performance.now() - this.#start) / 1000;
    // Once enough is done, the pace so far tells more than the estimate.
    const pace = this.#done > this.#total / 20 ? elapsed / this.#done : 1;
    const left = Math.max(0, this.#total - this.#done) * pace;
    const share = Math.min(100, Math.round((this.#done / this.#total) * 100));
    this.#write(`[${String(share).padStart(3)} %] ${label}, ${duration(left)} left`);
    this.#done += seconds;
  }

  end(): void {
    this.#write(`[100 %] done in ${duration((performance.now() - this.#start) / 1000)}`);
    process.stderr.write('\n');
  }

  #write(line: string): void {
    // A terminal shows one line that changes; a log takes one line each.
    process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
  }
}

function duration(seconds: number): string {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}
