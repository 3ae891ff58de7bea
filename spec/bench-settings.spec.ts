import { CASE_NAMES } from '../bench/cases';
import { PEERS, readSettings, type Settings } from '../bench/settings';

function read(...args: string[]): Settings {
  return readSettings(args) as Settings;
}

describe('the command line of the benchmark', () => {
  test('without options it measures everything, for README', () => {
    const settings = read();
    expect(settings).toMatchObject({ parts: ['cases', 'start', 'latency', 'growth'], cases: CASE_NAMES, peers: PEERS, checkOnly: false, quick: false, deferred: false });
    expect(settings.out).toMatch(/[\\/]bench[\\/]results$/);
    expect(settings).toMatchObject({ rounds: 12, seconds: 2, connections: 50, rate: undefined });
    expect(read('--parts', 'latency', '--rate', '5000')).toMatchObject({ parts: ['latency'], rate: 5000 });
    expect(read('--deferred').deferred).toBe(true);
    expect(read().semiSpace).toBeUndefined();
    expect(read('--semi-space', '16').semiSpace).toBe(16);
    expect(read().warmUp).toBeUndefined();
    expect(read('--warm-up', '20').warmUp).toBe(20);
    expect(read('--quick')).toMatchObject({ rounds: 2, seconds: 1, quick: true });
  });

  test('what is narrowed is measured alone, and kept from the results of a full run', () => {
    const settings = read('--cases', 'routed', '--peers', 'fastify,node,fastify');
    expect(settings).toMatchObject({ parts: ['cases'], cases: ['routed'], peers: ['fastify', 'node'], growthPeers: ['fastify', 'node'] });
    for (const args of [['--cases', 'routed'], ['--peers', 'koa'], ['--parts', 'start'], ['--rounds', '20'], ['--seconds', '3'], ['--connections', '9'], ['--rate', '900'], ['--load', 'wrk'], ['--deferred'], ['--semi-space', '16'], ['--warm-up', '20'], ['--quick']]) {
      expect(read(...args).out).toMatch(/[\\/]results[\\/]partial$/);
    }
    expect(read().nodes).toEqual([]);
    expect(read('--node', '24,26')).toMatchObject({ nodes: [24, 26], peers: PEERS });
    expect(read('--parts', 'growth', '--out', '/somewhere/else').out).toMatch(/else$/);
  });

  test.each([
    [['--cases', 'nothing'], /^--cases must be of static, routed, .*, got "nothing"$/],
    [['--peers', 'hapi'], /^--peers must be of node, fastify, .*, got "hapi"$/],
    [['--peers', ','], /^--peers must name at least one of .*, got nothing$/],
    [['--rounds', '0'], /^--rounds must be a whole number above 0, got "0"$/],
    [['--seconds', '1.5'], /^--seconds must be a whole number above 0, got "1.5"$/],
    [['--connections', 'many'], /^--connections must be a whole number above 0, got "many"$/],
    [['--rate', '0'], /^--rate must be a whole number above 0, got "0"$/],
    [['--warm-up', 'long'], /^--warm-up must be a whole number above 0, got "long"$/],
    [['--semi-space', '0'], /^--semi-space must be a whole number above 0, got "0"$/],
    [['--parts', 'speed'], /^--parts must be of cases, start, latency, growth, profile, together, got "speed"$/],
    [['--load', 'ab'], /^--load must be of wrk, autocannon, got "ab"$/],
    [['--nonsense'], /^Unknown option '--nonsense'; the options are those of npm run bench -- --help$/],
    [['stray'], /^Unexpected argument 'stray'.*; the options are those of npm run bench -- --help$/],
    [['--rounds'], /'--rounds <value>'.*; the options are those of npm run bench -- --help$/],
    [['--without', 'speed'], /^--without must be of early-finish, header-fields, held-body, unread-request, got "speed"/],
    [['--node', '18'], /^--node takes majors of Node from 20 on, such as 20,24,26; got 18$/],
    [['--node', 'lts'], /^--node takes majors of Node .*; got lts$/],
    [['--base', __dirname], /^--base must be a checkout of waypost with dist\/ \(npm run build\), got "/],
  ])('%j is refused by name', (args, message) => {
    expect(() => readSettings(args)).toThrow(message);
  });
});
