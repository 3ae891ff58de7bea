const waypost = require('waypost');
const express = require('waypost/express');
const { report } = require('./report.cjs');

report(waypost).then((found) => {
  console.log(JSON.stringify({ names: Object.keys(waypost).sort(), oneState: express === waypost.express, ...found }));
});
