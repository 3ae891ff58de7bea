import { Dice } from '../support/hostile-target';
import { crowd, type Drill, type Figures, hold, mebibytes } from './drill';
import { ServerProcess } from './server-process';
import { visit } from './visit';

/** Connections at a time. */
const WIDTH = 50;
/** Most bytes that the heap and its buffers may grow by between a quarter of the time and its end. */
const GROWTH = 10 * 2 ** 20;

export const churn: Drill = {
  name: 'churn',
  load: '100 seconds of connections that come, ask one to four times and go, a fifth within an answer',
  run(extent) {
    const quarter = extent === 'whole' ? 25_000 : 250;
    return ServerProcess.with({ memory: 500 }, async (server): Promise<Figures> => {
      let connections = 0;
      let answers = 0;
      const until = async (end: number): Promise<void> => crowd(WIDTH, async (index) => {
        const dice = new Dice(index + end);
        while (Date.now() < end) {
          const visited = await visit({ port: server.port, tls: false, speed: 'fast', aborts: dice.once(5), requests: 4, slowness: 0, largest: 1_000_000 }, dice);
          connections++;
          answers += visited.answers;
        }
      });
      const begun = Date.now();
      await until(begun + quarter);
      const early = await server.until(({ responses }) => responses === 0, 'responses are left');
      await until(begun + 4 * quarter);
      const late = await server.until(({ responses }) => responses === 0, 'responses are left');
      const grown = late.memory - early.memory;
      hold(grown < GROWTH, `the heap has grown by ${mebibytes(grown)} since a quarter of the time`);
      return { outcome: `${connections.toLocaleString('en')} connections, ${answers.toLocaleString('en')} answers, each byte compared; the heap grew by ${(grown / 2 ** 20).toFixed(1)} MiB from the first quarter to the end` };
    });
  },
};
