// Error pages for browsers, JSON for programs.
import { escapeHtml, page } from './pages.mjs';

/** An error whose message may be shown. */
export function failure(status, message, details) {
  return Object.assign(new Error(message), { status, details, shown: true });
}

export function answerNotFound(req, res, next) {
  next(failure(404, `There is nothing at ${req.originalUrl}`));
}

// Express tells error middleware by its four parameters.
export function answerError(error, req, res, next) {
  if (res.headersSent) {
    next(error);
    return;
  }
  const status = error.status ?? (error.name === 'MulterError' ? 400 : 500);
  const message = error.shown || error.name === 'MulterError' ? error.message : status < 500 ? 'That request makes no sense' : 'Something went wrong';
  res.status(status).format({
    json: () => res.json({ error: message, details: error.details }),
    html: () => res.send(page(`Error ${status}`, `<p>${escapeHtml(message)}</p>`)),
    default: () => res.type('text').send(message),
  });
}
