import { setTimeout as wait } from 'node:timers/promises';
import { createServer, HttpError, Router } from 'waypost';
import { z } from 'zod';

const HARBOURS = { whitby: 5.6, bude: 6.9, oban: 3.9 };

/** Schemas, which check a request before its handler runs, and events. */
export const tides = Router();

const Query = z.object({ count: z.coerce.number().int().min(1).max(100).default(10) });

// Each event is asked for when the client has taken the one before; it ends when the client goes.
tides.get('/live', { summary: 'The level, as it changes', query: Query }, (req, res) => {
  res.events(levels(req.query.count, req.signal));
});

tides.get('/:harbour', {
  summary: 'High tides to come',
  params: z.object({ harbour: z.string().regex(/^[a-z]+$/) }),
  query: z.object({ days: z.coerce.number().int().min(1).max(7).default(1) }),
  response: { 200: z.object({ harbour: z.string(), metres: z.array(z.number()) }) },
}, (req, res) => {
  const { harbour } = req.params;
  if (!Object.hasOwn(HARBOURS, harbour)) throw new HttpError(404, 'NO_HARBOUR', `There is no harbour called ${harbour}`);
  res.json({ harbour, metres: Array(2 * req.query.days).fill(HARBOURS[harbour]) });
});

async function* levels(count, signal) {
  for (let minute = 0; minute < count; minute++) {
    if (minute > 0) await wait(200, undefined, { signal });
    yield { minute, metres: Number((3 + 2 * Math.sin(minute / 8)).toFixed(2)) };
  }
}

/** These routes, each with whether schemas check it. An application that has the schemas alone is described by OpenAPI: what they name is a query, or a status of the response. */
export function withSchemas(routes) {
  const { paths } = createServer({ logging: { level: 'silent' } }).use('/tides', tides).openapi({ info: { title: 'Tides', version: '1' } });
  return routes.map((route) => {
    const { parameters = [], responses = {} } = paths[route.path.replace(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()] ?? {};
    return { ...route, schema: parameters.some((parameter) => parameter.in === 'query') || '200' in responses };
  });
}

export const examples = {
  'GET /tides/live': {
    about: 'Server-sent events: a browser reads them by EventSource.',
    events: true,
    lines: [
      { status: 200, text: "curl -i -N '{origin}/tides/live?count=3'" },
      { status: 400, text: "curl -i '{origin}/tides/live?count=none'", about: 'A query that its schema refuses.' },
    ],
  },
  'GET /tides/:harbour': {
    about: 'Schemas check the path and the query, and write the response.',
    lines: [
      { status: 200, text: "curl -i '{origin}/tides/bude?days=2'" },
      { status: 400, text: "curl -i '{origin}/tides/bude?days=8'", about: 'More days than the schema allows.' },
      { status: 404, text: "curl -i '{origin}/tides/atlantis'" },
    ],
  },
};
