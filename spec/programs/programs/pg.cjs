module.exports = () => require('../better-auth/query.cjs')(process.argv[3]);
