import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DRILLS } from './drills/drills';
import { ROOT } from './support/child-program';

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('the drills run on the build: npm run build (npm test does so)');
});


test.each(DRILLS.map((drill) => [drill.name, drill] as const))('%s, in its short form', async (_, drill) => {
  const figures = await drill.run('short', []);
  expect(figures).toEqual({ outcome: expect.any(String), left: expect.any(String), peak: expect.any(String) });
});
