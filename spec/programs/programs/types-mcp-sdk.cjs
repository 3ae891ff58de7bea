/** Sources of MCP's TypeScript SDK v1.29.0 that import Express, and their neighbours, beside the rest of it as it is installed. */
const { compile } = require('../types/compile.cjs');

module.exports = () => compile('MCP_SDK', process.argv[3], { types: ['node'], rootDirs: ['src', '../node_modules/@modelcontextprotocol/sdk/dist/esm'] });
