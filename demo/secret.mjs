import { readFileSync } from 'node:fs';

/**
 * The secret that the demo's server and its signing scripts share: DEMO_SECRET,
 * or the text in secret.txt. Everyone can read that one, so it guards nothing:
 * a program of your own takes a secret of its own from its environment.
 */
export const secret = process.env.DEMO_SECRET || readFileSync(new URL('secret.txt', import.meta.url), 'utf8').trim();
