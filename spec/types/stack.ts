/** Type tests of `stack`, by which tools wrap and take out what is registered: compiled, never run. */
import { createServer, type Handler, Router } from 'waypost';

const around = (handle: unknown): Handler => (req, res, next) => (handle as Handler)(req, res, next);

for (const layer of [...createServer().router.stack, ...Router().stack]) {
  layer.handle = around(layer.handle);
  // @ts-expect-error -- it is put in the place of another by a layer's list, not by its name
  layer.name = 'other';
  if (layer.route === undefined) continue;
  // What stands in a route is wrapped and taken out likewise.
  for (const each of layer.route.stack) each.handle = around(each.handle);
  layer.route.stack = layer.route.stack.filter(({ method }) => method !== 'post');
  layer.route.stack.pop();
  // @ts-expect-error -- a path is registered for good
  layer.route.path = '/other';
}
