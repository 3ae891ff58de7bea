/** Callbacks of packages, typed by Express's names; what a program adds to Express's types; a mock of a response. */
const { compile } = require('../types/compile.cjs');

module.exports = () => compile('callbacks.ts', process.argv[3], { module: 'nodenext', target: 'es2022', strict: true, types: ['node'] });
