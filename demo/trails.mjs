import { Router } from 'waypost';

/** Wildcards: `*` takes exactly one segment, `**` one or more. */
export const trails = Router();

trails.get('/one/*', (req, res) => {
  res.json({ segment: req.params['*'] });
});

trails.get('/all/**', (req, res) => {
  res.json({ rest: req.params['**'] });
});

trails.get('/:region/from/:start-:end', (req, res) => {
  res.json(req.params);
});

trails.get('/:region/photos/**', (req, res) => {
  res.json({ region: req.params.region, photo: req.params['**'] });
});

export const examples = {
  'GET /trails/one/*': {
    about: 'One segment, whatever it is.',
    lines: [
      { status: 200, text: "curl -i '{origin}/trails/one/ridge'" },
      { status: 404, text: "curl -i '{origin}/trails/one/ridge/east'", about: 'Two segments are one too many.' },
    ],
  },
  'GET /trails/all/**': {
    about: 'The rest of the path, slashes and all.',
    lines: [{ status: 200, text: "curl -i '{origin}/trails/all/ridge/east/summit'" }],
  },
  'GET /trails/:region/from/:start-:end': {
    about: 'Two parameters in one segment.',
    lines: [{ status: 200, text: "curl -i '{origin}/trails/north/from/ford-summit'" }],
  },
  'GET /trails/:region/photos/**': {
    about: 'A parameter and the rest; captures are percent-decoded once.',
    lines: [{ status: 200, text: "curl -i '{origin}/trails/south/photos/2026/high%20tide.jpg'" }],
  },
};
