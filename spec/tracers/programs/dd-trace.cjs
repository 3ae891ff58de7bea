/** dd-trace, with its own exporter that writes traces to standard output. */
const tracer = require('dd-trace');

module.exports = async (bridge) => {
  const lines = [];
  const { write } = process.stdout;
  process.stdout.write = (text) => (lines.push(...String(text).split('\n')), true);
  tracer.init({ experimental: { exporter: 'log' }, flushInterval: 0, startupLogs: false, remoteConfig: { enabled: false } });
  bridge();
  const statuses = await require('../service.cjs').run(() => tracer.startSpan('query', { childOf: tracer.scope().active() }).finish());
  await new Promise((resolve) => setTimeout(resolve, 200));
  process.stdout.write = write;
  const spans = lines.filter((line) => line.startsWith('{"traces"')).flatMap((line) => JSON.parse(line).traces.flat());
  const server = spans.filter(({ name }) => name === 'web.request');
  const nameOf = (id) => spans.find(({ span_id }) => span_id === id)?.resource;
  return {
    statuses,
    requests: server.map(({ resource }) => resource),
    routes: server.map(({ meta }) => meta['http.route'] ?? null),
    errors: server.filter(({ meta }) => meta['error.message']).map(({ resource, meta }) => `${resource}: ${meta['error.message']}`),
    handlers: spans.filter(({ meta, name }) => name === 'query' || meta.component === 'waypost').map(({ parent_id, resource }) => `${nameOf(parent_id)} > ${resource}`).sort(),
  };
};
