import { resolve } from 'node:path';
import { toUSVString } from 'node:util';
import { HttpError } from '../../errors';
import { isAmbiguousPath } from './ambiguous-path';
import { FileTransfer, type TransferCallback } from './file-transfer';
import { checkFileOptions, readFileOptions, type SendFileOptions } from './file-options';
import { KnownFiles } from './known-files';
import { forgetLength } from '../answer';
import { type ConfiguredResponse, kSettings } from '../response-state';

/**
 * Sends the file at a path that the program names.
 * @throws TypeError for a path that is no string, or is relative with no `root`; for wrong options.
 */
export function sendNamedFile(res: ConfiguredResponse, path: string, given: SendFileOptions, done: TransferCallback): void {
  const { headers, followSymlinks, ...options } = readFileOptions(given);
  checkFileOptions(path, options);
  const { root } = options;
  if (options.etag === undefined && res[kSettings].fileEtag === false) options.etag = false;
  const settle: TransferCallback = (end, error) => {
    if (end !== 'sent') forgetLength(res);
    done(end, error);
  };
  if (root && isAmbiguous(res, path)) {
    settle('refused', new HttpError(403, 'EAMBIGUOUS', 'Forbidden'));
    return;
  }
  const transfer = new FileTransfer(res, {
    req: res.req,
    // A lone surrogate is in no file's name, and encodeURI throws for it.
    path: encodeURI(toUSVString(path)),
    options,
    // Resolved now: the process may change its directory.
    within: root && followSymlinks !== true ? resolve(root) : undefined,
    files: res[kSettings].files ?? new KnownFiles(),
    addHead: () => {
      for (const [name, value] of Object.entries(headers ?? {})) {
        if (value !== undefined) res.setHeader(name, value);
      }
    },
    takeDirectory: () => transfer.refuse(new HttpError(404, 'EISDIR', 'The path is a directory')),
  }, settle);
  transfer.start();
}

function isAmbiguous({ req }: ConfiguredResponse, path: string): boolean {
  const { originalUrl } = req as { originalUrl?: unknown };
  return isAmbiguousPath(path, typeof originalUrl === 'string' ? originalUrl : req.url ?? '');
}
