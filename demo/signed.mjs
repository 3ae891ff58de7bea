import { createServer, Router } from 'waypost';
import { secret } from './secret.mjs';

/** Routes that only a signed request reaches. They hold no check: the application makes it before anything else runs. */
export const signed = Router();

signed.get('/report', (req, res) => {
  res.json({ year: req.query.year ?? 'all', maps: 3 });
});

signed.post('/orders', (req, res) => {
  res.status(201).xJson({ ordered: req.body });
});

signed.get('/health', (req, res) => {
  res.json({ healthy: true });
});

/** For `security` of createServer: all beneath /signed is checked but the health check. */
export const security = {
  requestSignature: { secret },
  routeConfig: {
    requestSignature: { includeRoutes: ['/signed/**'], excludeRoutes: ['/signed/health'] },
  },
};

/**
 * These routes, each with whether it asks for a signature. An application
 * without routes is asked, whose check is the same: so no handler runs.
 */
export async function withSigned(routes) {
  const check = createServer({ logging: { level: 'silent' }, security });
  return Promise.all(routes.map(async (route) => {
    const { statusCode } = await check.inject({ method: route.method, url: route.path.replace(/:\w+|\*+/g, 'x') });
    return { ...route, signed: statusCode === 401 };
  }));
}

const REPORT = "'{origin}/signed/report?year=2026'";
const ORDERS = "'{origin}/signed/orders'";
const ORDER = `'{"map":"fells","copies":2}'`;

export const examples = {
  'GET /signed/report': {
    about: 'The signing script prints two headers, and curl reads them from the pipe. Three scripts do the same.',
    lines: [
      { status: 200, text: `node demo/sign.mjs GET ${REPORT} | curl -i -H @- ${REPORT}` },
      { status: 200, text: `sh demo/sign.sh GET ${REPORT} | curl -i -H @- ${REPORT}`, about: 'With openssl.' },
      { status: 200, text: `python3 demo/sign.py GET ${REPORT} | curl -i -H @- ${REPORT}`, about: 'With Python.' },
      { status: 401, text: `curl -i ${REPORT}`, about: 'Without a signature.' },
      { status: 401, text: `node demo/sign.mjs GET ${REPORT} | curl -i -H @- '{origin}/signed/report?year=2027'`, about: 'Signed for another year.' },
      { status: 401, text: `curl -i -H 'Svc-Request-Sig: ${'0'.repeat(64)}' -H 'X-Timestamp: 1700000000000' ${REPORT}`, about: 'Signed long ago.' },
    ],
  },
  'POST /signed/orders': {
    about: 'The body is part of what is signed.',
    lines: [
      { status: 201, text: `node demo/sign.mjs POST ${ORDERS} ${ORDER} | curl -i -H @- -H 'Content-Type: application/json' -d ${ORDER} ${ORDERS}` },
      { status: 201, text: `sh demo/sign.sh POST ${ORDERS} ${ORDER} | curl -i -H @- -H 'Content-Type: application/json' -d ${ORDER} ${ORDERS}`, about: 'With openssl.' },
      { status: 201, text: `python3 demo/sign.py POST ${ORDERS} ${ORDER} | curl -i -H @- -H 'Content-Type: application/json' -d ${ORDER} ${ORDERS}`, about: 'With Python.' },
      { status: 401, text: `node demo/sign.mjs POST ${ORDERS} ${ORDER} | curl -i -H @- -H 'Content-Type: application/json' -d '{"map":"fells","copies":200}' ${ORDERS}`, about: 'A body that is not the one signed.' },
    ],
  },
  'GET /signed/health': {
    about: 'Excluded from the check.',
    lines: [{ status: 200, text: "curl -i '{origin}/signed/health'" }],
  },
};
