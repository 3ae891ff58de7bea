/** Type tests of `req.route` and of the events for tracers: compiled, never run. */
import { subscribe } from 'node:diagnostics_channel';
import { type Handler, type HandlerEvent, type MatchedRoute, Router, type RouteEvent } from 'waypost';

export const shows: Handler = (req, res) => {
  const path: string | RegExp | readonly (string | RegExp)[] | undefined = req.route?.path;
  const gets: boolean | undefined = req.route?.methods['get'];
  // @ts-expect-error -- in middleware there may be none
  const sure: MatchedRoute = req.route;
  // @ts-expect-error -- no member of a route
  res.json([path, gets, sure, req.route?.pathname]);
};

// What is registered is what req.route shows.
export const route: MatchedRoute = Router().route('/a');

subscribe('waypost:request:route', (message) => {
  const { method, route: pattern, request, response } = message as RouteEvent;
  const texts: string[] = [method, pattern, request.url ?? '', String(response.statusCode)];
  // @ts-expect-error -- an event is read, not written
  (message as HandlerEvent).name = texts[0] ?? '';
});
