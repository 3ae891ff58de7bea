import { type Application, createServer } from '../application';
import type { CreateServerOptions } from '../options';
import { createRouter } from '../routing/router';
import { json, raw, text, urlencoded } from './body-parsers';
import { staticFiles } from './static-files';

/**
 * Makes an application, as {@link createServer} does, with Express's defaults:
 * paths in any case and with or without a slash at their end, weak ETags, and
 * no body parsed but by middleware. With what hangs on it, an Express program
 * needs only another import: `import { express } from 'waypost'`.
 * @param options See {@link CreateServerOptions}; what is given goes before these defaults.
 */
export function express(options: CreateServerOptions = {}): Application {
  return createServer({ etag: 'weak', body: false, ...options, routing: { caseSensitive: false, ignoreTrailingSlash: true, ...options.routing } });
}

express.json = json;
express.urlencoded = urlencoded;
express.text = text;
express.raw = raw;
express.static = staticFiles;
express.Router = createRouter;
