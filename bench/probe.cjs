/** Loaded into every peer: tells the runner what the process has used and where its time goes, and ends it when the runner is gone. */
const ANSWERS = { usage, collected, profiled, sample, sampled };
let session;
let collect;

// From the start, as by --cpu-prof.
if (process.env.BENCH_PROFILE !== undefined) void profile();

async function usage() {
  return { cpu: process.cpuUsage(), rss: process.memoryUsage.rss() };
}

/** Memory after V8 has collected all that it can; a turn between, so that what the first collection has ended is gone as well. */
async function collected() {
  collect ??= exposeCollector();
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  collect();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heapUsed, external };
}

/** As --expose-gc does, but from when it is asked for only. */
function exposeCollector() {
  require('node:v8').setFlagsFromString('--expose-gc');
  return require('node:vm').runInNewContext('gc');
}

/** Loads the inspector, which no other run is to pay for. */
async function profile() {
  const { Session } = require('node:inspector/promises');
  session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 100 });
  await session.post('Profiler.start');
}

async function profiled() {
  return (await session.post('Profiler.stop')).profile;
}

async function sample() {
  await session.post('HeapProfiler.startSampling', { samplingInterval: 16_384, includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true });
}

async function sampled() {
  return (await session.post('HeapProfiler.stopSampling')).profile;
}

/**
 * Hands each request on when all that has been read in this turn of the event loop is parsed, as restana does by itself.
 * Whoever asks then has much to read at once: load and server wake each other less often.
 */
function defer({ Server: { prototype } }) {
  const { emit } = prototype;
  prototype.emit = function (name, ...given) {
    if (name !== 'request') return emit.call(this, name, ...given);
    setImmediate(emit.bind(this, name, ...given));
    return true;
  };
}

/** Keeps idle connections for as long as the process lives. */
function keepIdle({ Server: { prototype } }) {
  const { emit } = prototype;
  prototype.emit = function (name, ...given) {
    if (name === 'listening') this.keepAliveTimeout = 0;
    return emit.call(this, name, ...given);
  };
}

if (process.env.BENCH_KEEP_IDLE !== undefined) keepIdle(require('node:http'));
if (process.env.BENCH_DEFERRED !== undefined) for (const name of ['node:http', 'node:https']) defer(require(name));

process.on('message', (question) => void ANSWERS[question]().then((answer) => process.send(answer ?? {})));
process.on('disconnect', () => process.exit());
