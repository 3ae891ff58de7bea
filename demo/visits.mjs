import { parseCookie } from 'cookie';
import { Router } from 'waypost';

/** Cookies and redirects. */
export const visits = Router();

// Reading cookies is middleware's work; this is all that it takes.
visits.use((req, res, next) => {
  req.cookies = parseCookie(req.headers.cookie ?? '');
  next();
});

visits.get('/', (req, res) => {
  const visit = (Number(req.cookies.visits) || 0) + 1;
  res.cookie('visits', visit, { httpOnly: true, sameSite: 'lax', maxAge: 86_400_000 });
  res.send(`Visit number ${visit}\n`);
});

visits.get('/forget', (req, res) => {
  res.clearCookie('visits');
  res.redirect('/visits');
});

visits.get('/moved', (req, res) => {
  res.redirect(301, '/catalogue');
});

export const examples = {
  'GET /visits': {
    about: 'Counts visits in a cookie.',
    lines: [
      { status: 200, text: "curl -i '{origin}/visits'" },
      { status: 200, text: "curl -i -b 'visits=4' '{origin}/visits'" },
    ],
  },
  'GET /visits/forget': {
    about: 'Clears the cookie and redirects with 302.',
    lines: [{ status: 302, text: "curl -i '{origin}/visits/forget'" }],
  },
  'GET /visits/moved': {
    about: 'A redirect with a status of one’s own.',
    lines: [{ status: 301, text: "curl -i '{origin}/visits/moved'" }],
  },
};
