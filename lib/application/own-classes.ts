import type { Socket } from 'node:net';
import { assign } from '../http/assignable';
import { Request } from '../http/request';
import { kSettings as kRequestSettings } from '../http/request-state';
import { Response } from '../http/response';
import { kSettings as kResponseSettings } from '../http/response-state';
import type { SharedSettings } from './settings';

/** The classes that an application's own servers make requests and responses of, and whose prototypes others' get. */
export interface OwnClasses {
  readonly Request: new (socket: Socket) => Request;
  readonly Response: typeof Response;
}

/** Makes an application's own subclasses: they know its settings, and responses fail by the `next` of their request. */
export function ownClasses(settings: SharedSettings, settingsOf: (app: unknown) => SharedSettings | undefined): OwnClasses {
  const classes = {
    Request: class extends Request {},
    Response: class extends Response {},
  };
  share(classes.Request.prototype, kRequestSettings, settings);
  share(classes.Response.prototype, kResponseSettings, settings);
  showApplication(classes.Request.prototype, kRequestSettings, settingsOf);
  showApplication(classes.Response.prototype, kResponseSettings, settingsOf);
  hideApplication(classes.Request.prototype);
  return classes as unknown as OwnClasses;
}

/** Where a program makes another application the `app` of a request or response, the settings of that count from then on, as in Express. */
function showApplication(prototype: object, key: symbol, settingsOf: (app: unknown) => SharedSettings | undefined): void {
  Object.defineProperty(prototype, 'app', {
    configurable: true,
    get(this: object): unknown {
      return (Reflect.get(this, key) as SharedSettings).app;
    },
    set(this: object, value: unknown) {
      const others = settingsOf(value);
      if (others !== undefined) share(this, key, others);
      assign(this, 'app', value);
    },
  });
}

/**
 * On the prototype itself there is no `app`: light-my-request, given an
 * application that is the `app` of its own `request`, puts its classes beneath
 * those of Express, and from then on no server of the process works.
 */
function hideApplication(prototype: object): void {
  const accessor = Object.getOwnPropertyDescriptor(prototype, 'app') as PropertyDescriptor;
  Object.defineProperty(prototype, 'app', {
    ...accessor,
    get(this: object): unknown {
      return this === prototype ? undefined : accessor.get?.call(this);
    },
  });
}

function share(owner: object, key: symbol, value: unknown): void {
  Object.defineProperty(owner, key, { value, writable: true, configurable: true });
}

/**
 * What requests or responses inherit from where a program has assigned it in the place of an application's own prototype; null
 * for what is no request or response, and the program's own. What it is made of other than that prototype gets it beneath:
 * settings, and the way of errors, are there.
 */
export function inheriting(given: unknown, own: object): object | null {
  const isRequest = own instanceof Request;
  const base: object = isRequest ? Request.prototype : Response.prototype;
  const key = isRequest ? kRequestSettings : kResponseSettings;
  if (typeof given !== 'object' || given === null || !isBeneath(base, given)) return null;
  if (given === own || isBeneath(own, given)) return given;
  let top = given;
  for (let next = Object.getPrototypeOf(top) as object; next !== base; next = Object.getPrototypeOf(top) as object) top = next;
  // Made of another application's, which is not to be changed.
  if (Object.hasOwn(top, key)) {
    const apart = Object.create(given) as object;
    share(apart, key, Reflect.get(own, key));
    return apart;
  }
  Object.setPrototypeOf(top, own);
  return given;
}

function isBeneath(prototype: object, object: object): boolean {
  return Object.prototype.isPrototypeOf.call(prototype, object);
}
