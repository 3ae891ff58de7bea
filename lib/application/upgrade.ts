import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorBody, HttpError } from '../errors';
import { guardedCall } from '../http/guarded-call';
import { giveOwnTarget } from '../http/adoption';
import { leavesUpgrade } from '../http/connection';
import { answerSocket } from '../http/default-answer';
import { HostCheck } from '../http/host';
import type { Request } from '../http/request';
import type { SafeLog } from '../log/safe-log';
import type { SentTarget, SignatureHook } from '../signature/hook';
import { TargetViews } from '../signature/scope/target-views';
import { guardedPart } from '../target/target';

/** A listener for requests to switch protocols, as that of Node's `upgrade` event. */
export type UpgradeListener = (req: Request, socket: Duplex, head: Buffer) => unknown;

/** A request to switch protocols on its way through the listeners. */
interface Upgrade {
  readonly req: Request;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly sent: SentTarget;
  /** The hooks that have let it through. */
  readonly passed: SignatureHook[];
}

/** The listeners of an application for requests to switch protocols, behind its checks of signatures. */
export class Upgrades {
  readonly #hooks: readonly SignatureHook[];
  readonly #logger: SafeLog;
  readonly #hosts = new HostCheck();
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
    if (!this.#hosts.admits(message)) return answerSocket(socket, 400, errorBody(HttpError.of('INVALID_HOST'), 400, true, false));
    const req = message as Request;
    giveOwnTarget(req);
    const upgrade: Upgrade = { req, socket, head, sent: { method: req.method, url: req.url }, passed: [] };
    this.#check(upgrade, () => {
      const listeners = this.#listeners();
      // They may have gone while the signature was checked: nobody else would answer, or close the socket.
      if (listeners.length === 0) socket.destroy();
      this.#call(upgrade, listeners, 0);
    });
  };

  /** Calls back once the hooks let it through that its target needs, as it is by then. */
  #check(upgrade: Upgrade, admitted: () => void): void {
    const { req, socket, sent, passed } = upgrade;
    const views = new TargetViews(guardedPart(req.url));
    const hook = this.#hooks.find((each) => !passed.includes(each) && each.scope.requires(req.method, views));
    if (hook === undefined) {
      admitted();
      return;
    }
    const goOn = (passes: boolean): void => {
      if (!passes) return;
      passed.push(hook);
      this.#check(upgrade, admitted);
    };
    const admission = hook.admitsUpgrade(req, socket, sent);
    if (typeof admission === 'boolean') goOn(admission);
    else admission.then(goOn).catch(() => socket.destroy());
  }

  #call(upgrade: Upgrade, listeners: readonly UpgradeListener[], from: number): void {
    const { req, socket, head } = upgrade;
    const sentTo = { url: req.url, method: req.method };
    for (let index = from; index < listeners.length; index++) {
      // The one before has made another target of it.
      if (isOther(req, sentTo)) {
        guardedCall(() => this.#check(upgrade, () => this.#call(upgrade, listeners, index)), (error) => this.#failed(upgrade, error));
        return;
      }
      guardedCall(() => (listeners[index] as UpgradeListener)(req, socket, head), (error) => this.#failed(upgrade, error));
    }
  }

  #failed({ req, socket }: Upgrade, error: unknown): void {
    this.#logger.error({ err: error, url: req.url }, 'An upgrade listener failed');
    socket.destroy();
  }
}

function isOther(req: Request, { url, method }: SentTarget): boolean {
  try {
    return req.url !== url || req.method !== method;
  } catch {
    // To be read again, where the error has somewhere to go.
    return true;
  }
}
