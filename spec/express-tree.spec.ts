import { Agent, createServer, type Server } from 'node:http';
import theirs from 'express';
import fc from 'fast-check';
import { express } from 'waypost';
import type { ExpressModule } from './support/both-expresses';
import { applicationOf, handlesParams, sents, type Sent, type Tree, trees, writeTree } from './support/express-tree';
import { portOf } from './support/running';
import { runs } from './support/runs';
import { ask } from './support/wire';

/** What became of a request. */
interface Outcome {
  readonly status: number;
  readonly body: string;
  readonly allow: string | undefined;
  readonly trace: readonly string[];
}

/** A server whose application changes from program to program. */
class Stage {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #server: Server = createServer((req, res) => this.#application(req as never, res as never));
  readonly #lib: ExpressModule;
  #application: (...given: never[]) => unknown = () => undefined;
  #trace: string[] = [];

  constructor(lib: ExpressModule) {
    this.#lib = lib;
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
  }

  play(tree: Tree): void {
    this.#application = applicationOf(tree, this.#lib, (line) => this.#trace.push(line));
  }

  async outcome({ method, target }: Sent): Promise<Outcome> {
    this.#trace = [];
    const { status, body, headers } = await ask(portOf(this.#server), target, { method, agent: this.#agent });
    // The words of what the program itself has not answered are each one's own.
    return { status, body: /^[{<]/.test(body) ? '' : body, allow: headers.allow, trace: this.#trace };
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const quiet = Object.assign(() => express({ env: 'test', logging: { level: 'silent' } }), express) as unknown as ExpressModule;
const stages = { express: new Stage(theirs), waypost: new Stage(quiet) };

beforeAll(async () => {
  for (const stage of Object.values(stages)) await stage.open();
});
afterAll(async () => {
  for (const stage of Object.values(stages)) await stage.close();
});

test('random programs of applications, routers, patterns, options and parameters do on waypost what they do on Express', async () => {
  let calls = 0;
  await fc.assert(
    fc.asyncProperty(trees, sents, async (tree, asked) => {
      for (const stage of Object.values(stages)) stage.play(tree);
      for (const sent of asked) {
        // Express calls handlers of parameters for any route there, whatever its methods.
        if (sent.method === 'HEAD' && handlesParams(tree)) continue;
        const [wanted, got] = await Promise.all([stages.express.outcome(sent), stages.waypost.outcome(sent)]);
        calls += wanted.trace.length;
        try {
          expect(got).toEqual(wanted);
        } catch (error) {
          throw new Error(`${sent.method} ${sent.target} of\n${writeTree(tree)}\n${(error as Error).message}`, { cause: error });
        }
      }
    }),
    { numRuns: runs(150) },
  );
  // A generator that seldom hits would prove nothing.
  expect(calls).toBeGreaterThan(runs(150) * 3);
});
