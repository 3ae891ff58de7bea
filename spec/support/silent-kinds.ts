import type { Express } from 'express';
import { createServer, type CreateServerOptions, express } from 'waypost';

type Logging = CreateServerOptions['logging'];

/** Makes an application, with the types of Express; it logs nothing unless it is told how. */
export type MakeApplication = (logging?: Logging) => Express;

/** Waypost's two kinds of application. */
export const SILENT_KINDS: Readonly<Record<'express()' | 'createServer()', MakeApplication>> = {
  'express()': (logging = { level: 'silent' }) => express({ logging }) as unknown as Express,
  'createServer()': (logging = { level: 'silent' }) => createServer({ logging }) as unknown as Express,
};
