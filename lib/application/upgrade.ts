import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { guardedCall } from '../guarded-call';
import { giveOwnTarget } from '../http/adoption';
import { leavesUpgrade } from '../http/connection';
import type { Request } from '../http/request';
import type { SafeLog } from '../safe-log';
import type { SignatureHook } from '../signature/hook';
import { guardedPart } from '../target';

/** A listener for requests to switch protocols, as that of Node's `upgrade` event. */
export type UpgradeListener = (req: Request, socket: Duplex, head: Buffer) => unknown;

/** The listeners of an application for requests to switch protocols, behind its checks of signatures. */
export class Upgrades {
  readonly #hooks: readonly SignatureHook[];
  readonly #logger: SafeLog;
  readonly #listeners: () => readonly UpgradeListener[];

  /** @param listeners Returns those that listen by now. */
  constructor(hooks: readonly SignatureHook[], logger: SafeLog, listeners: () => readonly UpgradeListener[]) {
    this.#hooks = hooks;
    this.#logger = logger;
    this.#listeners = listeners;
  }

  /** As Node's `upgrade` event calls it. */
  readonly take = (message: IncomingMessage, socket: Duplex, head: Buffer): void => {
    // Without a listener an error of the socket would end the process.
    socket.on('error', (error) => this.#logger.debug({ err: error }, 'A socket failed after a request to upgrade'));
    if (leavesUpgrade(message)) return;
    const req = message as Request;
    giveOwnTarget(req);
    this.#check(req, socket, head, 0);
  };

  /** Hands the request on once the hooks from there on let it through. */
  #check(req: Request, socket: Duplex, head: Buffer, from: number): void {
    const path = guardedPart(req.url);
    const index = this.#hooks.findIndex((hook, at) => at >= from && hook.scope.requires(req.method, path));
    const hook = this.#hooks[index];
    if (hook === undefined) {
      this.#call(req, socket, head);
      return;
    }
    const admitted = hook.admitsUpgrade(req, socket);
    if (admitted === true) this.#check(req, socket, head, index + 1);
    else if (admitted !== false) {
      admitted.then((passed) => {
        if (passed) this.#check(req, socket, head, index + 1);
      }).catch(() => socket.destroy());
    }
  }

  #call(req: Request, socket: Duplex, head: Buffer): void {
    const listeners = this.#listeners();
    // They may have gone while the signature was checked: nobody else would answer, or close the socket.
    if (listeners.length === 0) socket.destroy();
    for (const listener of listeners) {
      guardedCall(() => listener(req, socket, head), (error) => {
        this.#logger.error({ err: error, url: req.url }, 'An upgrade listener failed');
        socket.destroy();
      });
    }
  }
}
