import fc from 'fast-check';
import type { RequestOptions } from 'node:http';
import { anyCharacter } from './support/any-character';
import { type Handler, Parity, ResponseServer } from './support/response-server';
import { runs } from './support/runs';

const CASES: readonly (readonly [string, Handler])[] = [
  ['a path', (_, res) => res.redirect('/next')],
  ['a status and a path', (_, res) => res.redirect(301, '/next')],
  ['308', (_, res) => res.redirect(308, '/next')],
  ['an unusual status', (_, res) => res.redirect(200, '/next')],
  ['a URL of another site', (_, res) => res.redirect('https://example.com/a?b=c&d=<e>"\'')],
  ['a relative URL', (_, res) => res.redirect('../login')],
  ['back', (_, res) => res.redirect('back')],
  ['an address that is nobody else\'s business', (_, res) => res.redirect('//evil.example')],
  ['backslashes', (_, res) => res.redirect('/\\evil.example')],
  ['javascript:', (_, res) => res.redirect('javascript:alert(document.cookie)')],
  ['line ends', (_, res) => res.redirect('/a\r\nSet-Cookie: b=c\r\n\r\n<script>')],
  ['markup', (_, res) => res.redirect('/<script>alert(1)</script>&"\'`')],
  ['what is encoded already', (_, res) => res.redirect('/%20%zz%C3%BC?ü=日本')],
  ['a lone surrogate', (_, res) => res.redirect('/\ud800')],
  ['a Vary before it', (_, res) => res.vary('Cookie').redirect('/')],
  ['a type before it', (_, res) => res.type('json').redirect('/')],
];

const REQUESTS: readonly (readonly [string, RequestOptions])[] = [
  ['GET', {}],
  ['POST', { method: 'POST' }],
  ['HEAD', { method: 'HEAD' }],
  ['Accept html', { headers: { accept: 'text/html' } }],
  ['Accept html first', { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }],
  ['Accept text', { headers: { accept: 'text/plain' } }],
  ['Accept neither', { headers: { accept: 'application/json' } }],
];

describe('redirect as in Express 5', () => {
  let parity: Parity;
  beforeAll(async () => { parity = await Parity.start(); });
  afterAll(() => parity.close());

  it.each(CASES)('%s', async (_name, handler) => {
    for (const [name, options] of REQUESTS) {
      const { ours, express } = await parity.both(handler, options);
      expect({ name, ...ours }).toEqual({ name, ...express });
    }
  });

  it('any address', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCharacter, minLength: 1 }), async (address) => {
        const { ours, express } = await parity.both((_, res) => res.redirect(address), { headers: { accept: 'text/html' } });
        expect(ours).toEqual(express);
        expect(ours.status).toBe(302);
        expect(ours.headers.location).toMatch(/^[!-~]*$/);
      }),
      { numRuns: runs(50) },
    );
  });
});

describe('redirect', () => {
  let server: ResponseServer;
  beforeEach(async () => { server = await ResponseServer.waypost(); });
  afterEach(() => server.close());

  it('is 302 with the address in Location (INTERFACE section 2.2)', async () => {
    const answer = await server.answer((_, res) => res.redirect('/next'));
    expect(answer.status).toBe(302);
    expect(answer.headers.location).toBe('/next');
  });

  it('has no link and no markup of the address in its body', async () => {
    const answer = await server.answer((_, res) => res.redirect('javascript:"><img src=x onerror=alert(1)>'), { headers: { accept: 'text/html' } });
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.body).not.toMatch(/href|<img|"/);
  });

  it('takes an empty address, which is the page itself', async () => {
    const answer = await server.answer((_, res) => res.redirect(''));
    expect(answer).toMatchObject({ status: 302, headers: { location: '' } });
  });

  it('takes a URL object without a word in the log', async () => {
    const answer = await server.answer((_, res) => res.redirect(new URL('https://example.com/a b')));
    expect(answer.headers.location).toBe('https://example.com/a%20b');
    expect(server.log).toEqual([]);
  });

  it('warns of an address that is none', async () => {
    const answer = await server.answer((_, res) => res.redirect(undefined as unknown as string));
    expect(answer.headers.location).toBe('undefined');
    expect(server.log).toEqual([expect.objectContaining({ level: 'warn', message: 'res.redirect was given undefined: give it the address as a string' })]);
  });

  it.each([['text/plain', 301], ['text/html', 308]])('takes undefined behind a status as the address, as Express does: %s', async (accept, status) => {
    const oracle = await ResponseServer.express(false);
    try {
      const handler: Handler = (_, res) => res.redirect(status, undefined as unknown as string);
      const [ours, theirs] = [await server.answer(handler, { headers: { accept } }), await oracle.answer(handler, { headers: { accept } })];
      expect(ours.headers.location).toBe('undefined');
      expect([ours.status, ours.headers.location, ours.body]).toEqual([theirs.status, theirs.headers.location, theirs.body]);
      expect(server.log[0]?.message).toContain('was given undefined');
    } finally {
      await oracle.close();
    }
  });

  it.each([['/', 301], [99, '/'], [1000, '/']])('refuses redirect(%p, %p)', async (first, second) => {
    const answer = await server.answer((_, res) => res.redirect(first as number, second as string));
    expect(answer.status).toBe(500);
    expect(answer.headers).not.toHaveProperty('location');
    expect(server.log[0]?.fields.err?.message).toContain('100 to 999');
  });
});
