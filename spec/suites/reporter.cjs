/**
 * A reporter of mocha that writes a line of JSON for each event to a file, as it comes: of a process
 * that ends in the middle it is known which test it was at, and how many there should have been.
 */
const { appendFileSync } = require('node:fs');

module.exports = class {
  constructor(runner) {
    const write = (event) => appendFileSync(process.env.SUITE_REPORT, `${JSON.stringify(event)}\n`);
    runner.once('start', () => write({ event: 'start', total: runner.total }));
    runner.on('test', (test) => write({ event: 'test', title: test.fullTitle() }));
    runner.on('pass', (test) => write({ event: 'pass', title: test.fullTitle() }));
    runner.on('pending', (test) => write({ event: 'pending', title: test.fullTitle() }));
    runner.on('fail', (test, error) => write({ event: 'fail', title: test.fullTitle(), message: String(error?.message ?? error) }));
    runner.once('end', () => write({ event: 'end' }));
  }
};
