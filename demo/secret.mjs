import { readFileSync } from 'node:fs';

/**
 * The secret that the demo's server and its signing scripts share: DEMO_SECRET,
 * or the text in secret.txt. Everyone can read that one, so it guards nothing:
 * a program of your own takes a secret of its own from its environment.
 */
export const secret = process.env.DEMO_SECRET || readFileSync(new URL('secret.txt', import.meta.url), 'utf8').trim();

/** The same where it is the one that everyone can read, so that a page may show it; undefined where it is not. */
export const publicSecret = process.env.DEMO_SECRET ? undefined : secret;
