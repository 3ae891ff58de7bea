import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorBody, type ErrorFormat, HttpError } from '../errors';
import { formatError } from '../http/error-format';
import { guardedCall } from '../http/guarded-call';
import { giveOwnTarget } from '../http/adoption';
import { leavesUpgrade, protocolsOf } from '../http/connection';
import { answerSocket } from '../http/default-answer';
import { HostCheck } from '../http/host';
import type { Request } from '../http/request';
import type { SafeLog } from '../log/safe-log';
import type { SentTarget, SignatureHook } from '../signature/hook';
import { TargetViews } from '../signature/scope/target-views';
import { guardedPart } from '../target/target';

/** A listener of upgrade requests, as of Node's `upgrade` event. Its property `protocols` may name others than `websocket`. */
export type UpgradeListener = (req: Request, socket: Duplex, head: Buffer) => unknown;

/** An upgrade request in progress. */
interface Upgrade {
  readonly req: Request;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly sent: SentTarget;
  /** The hooks that it has passed. */
  readonly passed: SignatureHook[];
}

/** The upgrade listeners of an application, behind its signature checks. */
export class Upgrades {
  readonly #hooks: readonly SignatureHook[];
  readonly #logger: SafeLog;
  readonly #errors: ErrorFormat | undefined;
  readonly #hosts = new HostCheck();
  readonly #listeners: () => readonly UpgradeListener[];

  /** @param listeners Returns the current listeners. */
  constructor(hooks: readonly SignatureHook[], errors: ErrorFormat | undefined, logger: SafeLog, listeners: () => readonly UpgradeListener[]) {
    this.#hooks = hooks;
    this.#errors = errors;
    this.#logger = logger;
    this.#listeners = listeners;
    Object.defineProperty(this.take, 'protocols', { get: () => protocolsOf(listeners()) });
  }

  /** Listener of Node's `upgrade` event. */
  readonly take = (message: IncomingMessage, socket: Duplex, head: Buffer): void => {
    // Without a listener an error of the socket would end the process.
    socket.on('error', (error) => this.#logger.debug({ err: error }, 'A socket failed after a request to upgrade'));
    if (leavesUpgrade(message)) return;
    if (!this.#hosts.admits(message)) return answerSocket(socket, 400, formatError(this.#errors, 400, errorBody(HttpError.of('INVALID_HOST'), 400, true, false), message, undefined, (error) => this.#logger.error({ err: error }, 'The form of an error answer failed')));
    const req = message as Request;
    giveOwnTarget(req);
    const upgrade: Upgrade = { req, socket, head, sent: { method: req.method, url: req.url }, passed: [] };
    this.#check(upgrade, () => {
      const listeners = this.#listeners();
      // Without listeners, removed during the check, only this would close the socket.
      if (listeners.length === 0) socket.destroy();
      this.#call(upgrade, listeners, 0);
    });
  };

  /** Calls back once every hook that its current target needs has admitted it. */
  #check(upgrade: Upgrade, admitted: () => void): void {
    const { req, socket, sent, passed } = upgrade;
    const views = new TargetViews(guardedPart(req.url));
    const hook = this.#hooks.find((each) => !passed.includes(each) && each.scope.requires(req.method, views));
    if (hook === undefined) {
      admitted();
      return;
    }
    const proceed = (passes: boolean): void => {
      if (!passes) return;
      passed.push(hook);
      this.#check(upgrade, admitted);
    };
    const admission = hook.admitsUpgrade(req, socket, sent);
    if (typeof admission === 'boolean') proceed(admission);
    else admission.then(proceed).catch(() => socket.destroy());
  }

  #call(upgrade: Upgrade, listeners: readonly UpgradeListener[], from: number): void {
    const { req, socket, head } = upgrade;
    const before = { url: req.url, method: req.method };
    for (let index = from; index < listeners.length; index++) {
      // The listener before has rewritten the target.
      if (req.url !== before.url || req.method !== before.method) {
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
