import waypost, { createServer, json, signRequest, static as files, XJsonResponseHandler } from 'waypost';
import express from 'waypost/express';
import { report } from './report.cjs';

report({ createServer, json, signRequest, static: files, XJsonResponseHandler }).then((found) => {
  console.log(JSON.stringify({ names: Object.keys(waypost).sort(), oneState: express === waypost.express && waypost.createServer === createServer, ...found }));
});
