/** The SDK of OpenTelemetry with its http instrumentation, and an exporter in memory. */
const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
const { registerInstrumentations } = require('@opentelemetry/instrumentation');
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http');
const { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-node');
const { SpanKind, trace } = require('@opentelemetry/api');

module.exports = async (bridge) => {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register({ contextManager: new AsyncLocalStorageContextManager() });
  registerInstrumentations({ instrumentations: [new HttpInstrumentation()] });
  bridge();
  const { run } = require('../service.cjs');
  const statuses = await run(() => trace.getTracer('service').startSpan('query').end());
  await provider.forceFlush();
  const spans = exporter.getFinishedSpans();
  const nameOf = (id) => spans.find((span) => span.spanContext().spanId === id)?.name;
  const server = spans.filter(({ kind }) => kind === SpanKind.SERVER);
  const inner = spans.filter(({ kind }) => kind === SpanKind.INTERNAL);
  return {
    statuses,
    requests: server.map(({ name }) => name),
    routes: server.map(({ attributes }) => attributes['http.route'] ?? null),
    errors: server.flatMap(({ name, events }) => events.map(({ attributes }) => `${name}: ${attributes['exception.message']}`)),
    handlers: inner.map(({ name, parentSpanContext }) => `${nameOf(parentSpanContext?.spanId)} > ${name}`).sort(),
  };
};
