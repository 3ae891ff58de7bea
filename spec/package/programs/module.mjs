import { createRequire } from 'node:module';
import * as imported from 'waypost';
import express, { Router } from 'waypost/express';
import { report } from './report.cjs';

const { default: whole, ...named } = imported;
delete named['module.exports'];
const required = createRequire(import.meta.url)('waypost');
console.log(JSON.stringify({
  names: Object.keys(named).sort(),
  oneState: whole === required && named.HttpError === required.HttpError && express === named.express && Router === named.Router,
  ...(await report(named)),
}));
