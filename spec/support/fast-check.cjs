/** fast-check with the seed of this run; jest.config.ts puts it in the place of fast-check. */
const fastCheck = require('../../node_modules/fast-check/lib/cjs/fast-check.js');

fastCheck.configureGlobal({ seed: Number(process.env.SPEC_SEED) });

module.exports = fastCheck;
