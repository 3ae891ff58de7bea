module.exports = () => require('../nest.cjs')('nest-11');
