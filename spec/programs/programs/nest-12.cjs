module.exports = () => require('../nest.cjs')('.');
