/** A boilerplate, edwinhern/express-typescript 1.0.14, whole but for its tests. */
const { compile } = require('../types/compile.cjs');

module.exports = () => compile('EXPRESS_TYPESCRIPT', process.argv[3], { baseUrl: '.', types: ['node'], paths: { '@/*': ['./src/*'] } });
