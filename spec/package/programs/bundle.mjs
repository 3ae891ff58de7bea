import * as waypost from 'waypost';
import express from 'waypost/express';
import { report } from './report.cjs';

report(waypost).then((found) => {
  const names = Object.keys(waypost).filter((name) => name !== 'default' && name !== 'module.exports' && name !== '__esModule').sort();
  console.log(JSON.stringify({ names, oneState: express === waypost.express, ...found }));
});
