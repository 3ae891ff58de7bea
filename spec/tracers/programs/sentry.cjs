/** @sentry/node, with a transport that keeps what it is given. */
const Sentry = require('@sentry/node');

module.exports = async (bridge) => {
  const sent = [];
  Sentry.init({
    dsn: 'http://key@127.0.0.1/1',
    tracesSampleRate: 1,
    transport: () => ({ send: async (envelope) => (sent.push(...envelope[1].map(([, item]) => item)), {}), flush: async () => true }),
  });
  bridge();
  const statuses = await require('../service.cjs').run(() => Sentry.startInactiveSpan({ name: 'query' }).end());
  await Sentry.flush(2000);
  const spans = sent.flatMap((item) => item.items ?? []).filter(({ attributes }) => attributes);
  const server = spans.filter(({ attributes }) => attributes['sentry.op']?.value === 'http.server');
  return {
    statuses,
    requests: server.map(({ name }) => name),
    routes: server.map(({ attributes }) => attributes['http.route']?.value ?? null),
    errors: sent.filter((item) => item.exception).map((item) => `${item.transaction}: ${item.exception.values[0].value}`),
    handlers: spans.map(({ name, parent_span_id: id }) => `${spans.find((span) => span.span_id === id)?.name} > ${name}`).filter((each) => !/127\.0\.0\.1/.test(each)).sort(),
  };
};
