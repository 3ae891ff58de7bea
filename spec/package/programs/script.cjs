const waypost = require('waypost');
const express = require('waypost/express');
const { report } = require('./report.cjs');

const { Router } = express;
import('waypost').then(async (imported) => {
  const { default: whole, ...named } = imported;
  delete named['module.exports'];
  console.log(JSON.stringify({
    names: Object.keys(waypost).sort(),
    oneState: whole === waypost && named.HttpError === waypost.HttpError && express === waypost.express && Router === waypost.Router,
    ...(await report(waypost)),
  }));
});
