module.exports = () => require('../better-auth/accounts.cjs')(process.argv[3]);
