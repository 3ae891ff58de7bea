import type { Socket } from 'node:net';
import { assign } from '../http/assignable';
import { Request } from '../http/request';
import { kSettings as kRequestSettings } from '../http/request-state';
import type { Response } from '../http/response';
import { kSettings as kResponseSettings } from '../http/response-state';
import { WalkedResponse } from '../routing/walked-response';
import type { SharedSettings } from './settings';

/** The classes that an application's own servers make requests and responses of, and whose prototypes others' get. */
export interface OwnClasses {
  readonly Request: new (socket: Socket) => Request;
  readonly Response: typeof Response;
}

/** Makes an application's own subclasses: they know its settings, and responses fail by the request's walk. */
export function ownClasses(settings: SharedSettings): OwnClasses {
  const classes = {
    Request: class extends Request {},
    Response: class extends WalkedResponse {},
  };
  share(classes.Request.prototype, kRequestSettings, settings);
  hideApplication(classes.Request.prototype, settings);
  share(classes.Response.prototype, kResponseSettings, settings);
  return classes as unknown as OwnClasses;
}

/**
 * On the prototype itself there is no `app`: light-my-request, given an
 * application that is the `app` of its own `request`, puts its classes beneath
 * those of Express, and from then on no server of the process works.
 */
function hideApplication(prototype: object, settings: SharedSettings): void {
  Object.defineProperty(prototype, 'app', {
    configurable: true,
    get(this: object): unknown {
      return this === prototype ? undefined : settings.app;
    },
    set(this: object, value: unknown) {
      assign(this, 'app', value);
    },
  });
}

function share(prototype: object, key: symbol, value: unknown): void {
  Object.defineProperty(prototype, key, { value, writable: true, configurable: true });
}
