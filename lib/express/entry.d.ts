/// <reference types="node" />
import { express, type Application } from 'waypost';

declare module 'waypost' {
  /** As Express's types have it; nothing else fills this in but a program. */
  interface UncheckedTypes {
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- what is unknown goes unchecked there
    value: any;
    application: Application;
  }
}

export = express;
