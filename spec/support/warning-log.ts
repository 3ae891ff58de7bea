import { LogRecorder } from './running';

/** A logger whose warnings can be waited for. */
export class WarningLog extends LogRecorder {
  readonly #heard: (() => void)[] = [];
  override readonly warn = (fields: object | string, message?: string): void => {
    this.lines.push({ level: 'warn', fields: typeof fields === 'object' ? { ...fields } : {}, message: message ?? String(fields) });
    for (const heard of this.#heard.splice(0)) heard();
  };

  /** Resolves with the warnings when there are so many. */
  async warned(count: number): Promise<string[]> {
    while (this.messages('warn').length < count) await new Promise<void>((resolve) => this.#heard.push(resolve));
    return this.messages('warn');
  }
}
