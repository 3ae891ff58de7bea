import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Handler } from 'waypost';

/** That some code ran for a user, and in whose async context. */
export interface Note {
  readonly user: string;
  readonly place: string;
  readonly store: string | undefined;
}

/** Users whose requests run in an AsyncLocalStorage store of their own: the name that they give as `x-user`. */
export class Users {
  readonly notes: Note[] = [];
  readonly #store = new AsyncLocalStorage<string>();

  /** Whose async context this is. */
  get current(): string | undefined {
    return this.#store.getStore();
  }

  /** Whose request it is. */
  of(req: IncomingMessage): string {
    return String(req.headers['x-user']);
  }

  /** Notes that code runs for the request. */
  note(req: IncomingMessage, place: string): void {
    this.notes.push({ user: this.of(req), place, store: this.current });
  }

  /** A listener that calls another, such as an application, in the user's store. */
  around(listener: RequestListener): RequestListener {
    return (req, res) => this.#store.run(this.of(req), listener, req, res);
  }

  /** Middleware that goes on in the user's store. */
  get middleware(): Handler {
    return (req, _res, next) => this.#store.run(this.of(req), next);
  }

  /** Runs in a store of that name. */
  run<T>(name: string, work: () => T): T {
    return this.#store.run(name, work);
  }

  /** What ran in another context than its user's. */
  get strays(): Note[] {
    return this.notes.filter(({ user, store }) => user !== store);
  }

  /** How often each place was noted. */
  get places(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { place } of this.notes) counts[place] = (counts[place] ?? 0) + 1;
    return counts;
  }
}
