import type { Socket } from 'node:net';
import { assign, defineHidden } from '../http/assignable';
import { Request } from '../http/request';
import { kSettings as kRequestSettings } from '../http/request-state';
import { Response } from '../http/response';
import { kSettings as kResponseSettings } from '../http/response-state';
import type { SharedSettings } from './settings';

/** The request and response classes of an application; others' requests get their prototypes. */
export interface OwnClasses {
  readonly Request: new (socket: Socket) => Request;
  readonly Response: typeof Response;
}

/** Makes an application's own subclasses with its settings. A response reports errors to the `next` of its request. */
export function ownClasses(settings: SharedSettings, settingsOf: (app: unknown) => SharedSettings | undefined): OwnClasses {
  const classes = {
    Request: class extends Request {},
    Response: class extends Response {},
  };
  defineHidden(classes.Request.prototype, kRequestSettings, settings);
  defineHidden(classes.Response.prototype, kResponseSettings, settings);
  showApplication(classes.Request.prototype, kRequestSettings, settingsOf);
  showApplication(classes.Response.prototype, kResponseSettings, settingsOf);
  return classes as unknown as OwnClasses;
}

/**
 * Defines `app`: assigning another application switches to its settings, as in Express. A request's prototype itself shows none:
 * given an application that is the `app` of its own `request`, light-my-request changes Express's prototypes, and no server of the
 * process works any more.
 */
function showApplication(prototype: object, key: symbol, settingsOf: (app: unknown) => SharedSettings | undefined): void {
  Object.defineProperty(prototype, 'app', {
    configurable: true,
    get(this: object): unknown {
      return this === prototype && key === kRequestSettings ? undefined : (Reflect.get(this, key) as SharedSettings).app;
    },
    set(this: object, value: unknown) {
      const otherSettings = settingsOf(value);
      if (otherSettings !== undefined) defineHidden(this, key, otherSettings);
      assign(this, 'app', value);
    },
  });
}
