import { ChildProgram, FROM_LIB } from './support/child-program';

// With a Set and a Map of the responses that wait, 42 to 72 MB are kept here until the next full collection.
test('collections of the young generation free pipelined requests that have been answered', async () => {
  const program = `
    const { createServer } = require('./lib');
    const { connect } = require('node:net');
    const { getHeapSpaceStatistics } = require('node:v8');
    const oldSize = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size;
    const app = createServer({ env: 'production', logging: { level: 'silent' } });
    app.get('/', (req, res) => {
      res.locals.data = Array.from({ length: 100 }, () => ({}));
      res.json({ ok: true });
    });
    const text = 'GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n'.repeat(10);
    app.start(0, '127.0.0.1').then((server) => {
      let answered = 0;
      let before = 0;
      let most = 0;
      const count = () => {
        answered += 10;
        // V8 has compiled by then, and made what stays.
        if (answered <= 10_000) before = oldSize();
        most = Math.max(most, oldSize() - before);
        if (answered < 40_000) return;
        console.log(most < 15_000_000 ? 'freed' : 'kept ' + most);
        process.exit();
      };
      for (let i = 0; i < 100; i++) {
        const socket = connect(server.address().port, '127.0.0.1').setEncoding('latin1');
        let left = 10;
        socket.on('data', (part) => {
          left -= part.split('{"ok":true}').length - 1;
          if (left > 0) return;
          count();
          left = 10;
          socket.write(text);
        });
        socket.write(text);
      }
    });`;
  expect(await ChildProgram.run([...FROM_LIB, '-e', program])).toMatchObject({ code: 0, output: 'freed\n' });
});
