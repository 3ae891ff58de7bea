import fc from 'fast-check';
import { contentDigest } from '../lib/signature/v2/content-digest';
import { messageMac, signatureBase } from '../lib/signature/v2/message-base';
import { signMessage } from '../lib/signature/v2/message-sign';
import { signRequest } from '../lib/signature/sign';
import { runs } from './support/runs';
import { failureOf, NONCE, NOW, type Received, reasonOf, schemeOf, SECRET, signed } from './support/signed-message';

const json = { 'Content-Type': 'application/json' };

const TARGET_CHARACTERS = [...'abAB01-._~:/@!$&\'()*+,;=%[]|^{}\\`"<>'];
const paths = fc.string({ unit: fc.constantFrom(...TARGET_CHARACTERS), maxLength: 12 }).map((text) => `/${text}`);
const queries = fc.option(fc.string({ unit: fc.constantFrom(...TARGET_CHARACTERS, '?'), minLength: 1, maxLength: 12 }), { nil: undefined });
const targets = fc.tuple(paths, queries).map(([path, query]) => (query === undefined ? path : `${path}?${query}`));
const bodies = fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.json({ maxDepth: 1 }).map((text) => Buffer.from(text)), targets.map((text) => Buffer.from(text))).map((bytes) => Buffer.from(bytes));
const types = fc.option(fc.constantFrom('application/json', 'text/plain', 'application/x-www-form-urlencoded', 'text/plain;charset=utf-8'), { nil: undefined });
const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY');

interface Content {
  method: string;
  target: string;
  body: Buffer;
  type: string | undefined;
  nonce: string;
  created: number;
}

const contents: fc.Arbitrary<Content> = fc.record({
  method: methods, target: targets, body: bodies, type: types,
  nonce: fc.string({ unit: fc.constantFrom(...'abc019"\\; ='), minLength: 16, maxLength: 24 }),
  created: fc.integer({ min: -30, max: 300 }).map((seconds) => NOW / 1000 - seconds + 0),
});

function sign({ method, target, body, type, nonce, created }: Content): Received {
  const received = signed({ method, target, body, nonce, timestamp: created * 1000, headers: type === undefined ? {} : { 'Content-Type': type } });
  return { ...received, body };
}

/** What of a request is signed: `/a` and `/a?` are one (RFC 9421 section 2.2.7). */
function meaning({ method, target, body, type, nonce, created }: Content): string {
  const plain = target.endsWith('?') && target.indexOf('?') === target.length - 1 ? target.slice(0, -1) : target;
  return JSON.stringify([method, plain, body.toString('hex'), type, nonce, created]);
}

const wide = schemeOf({ maxAge: 300_000, clockSkew: 30_000 });

describe('whatever is signed', () => {
  test('is accepted as it was signed', () => {
    fc.assert(fc.property(contents, (content) => {
      expect(reasonOf(sign(content), wide)).toBe('');
    }), { numRuns: runs(150) });
  });

  test('has a signature that no other request shares', () => {
    fc.assert(fc.property(contents, contents, fc.subarray(['method', 'target', 'body', 'type', 'nonce', 'created'] as const), (one, two, same) => {
      // Two requests that differ in few things are the likely ones to be taken for each other.
      const other: Content = { ...two, ...Object.fromEntries(same.map((name) => [name, one[name]])) };
      const [a, b] = [sign(one), sign(other)];
      expect(a.headers['signature'] === b.headers['signature']).toBe(meaning(one) === meaning(other));
    }), { numRuns: runs(300) });
  });

  test('cannot be handed on with another request', () => {
    fc.assert(fc.property(contents, contents, fc.subarray(['method', 'target', 'body', 'type', 'nonce', 'created'] as const), (one, two, same) => {
      const other: Content = { ...two, ...Object.fromEntries(same.map((name) => [name, one[name]])) };
      const [signedOne, sent] = [sign(one), sign(other)];
      const stolen = { ...sent, headers: { ...sent.headers, signature: signedOne.headers['signature']! } };
      expect(failureOf(stolen, wide)).toBe(meaning(one) === meaning(other) ? undefined : 'invalid');
    }), { numRuns: runs(300) });
  });

  test('is refused once any one character of a header or the target, or any one bit of the body, differs', () => {
    const part = fc.constantFrom('target', 'content-type', 'content-digest', 'signature', 'signature-input');
    fc.assert(fc.property(contents, part, fc.nat(), fc.integer({ min: 0x20, max: 0x7e }), fc.constantFrom('put', 'insert', 'drop'), (content, where, index, code, how) => {
      const received = sign(content);
      const text = where === 'target' ? received.target : received.headers[where];
      fc.pre(text !== undefined);
      const at = index % text!.length;
      const changed = text!.slice(0, at) + (how === 'drop' ? '' : String.fromCharCode(code)) + text!.slice(how === 'insert' ? at : at + 1);
      fc.pre(changed.trim() !== text);
      // An empty query is none, and the label names nothing but itself.
      fc.pre(!(where === 'target' && withoutEmptyQuery(changed) === withoutEmptyQuery(text!)));
      const sent = where === 'target' ? { ...received, target: changed } : { ...received, headers: { ...received.headers, [where]: changed } };
      expect(failureOf(sent, wide)).toMatch(/^(?:invalid|expired)$/);
    }), { numRuns: runs(600) });
  });

  test('is refused once a bit of the body differs, or bytes are added or cut', () => {
    fc.assert(fc.property(contents, fc.nat(), fc.constantFrom('flip', 'add', 'cut'), (content, index, how) => {
      const received = sign(content);
      const body = Buffer.from(received.body!);
      fc.pre(body.length > 0 || how === 'add');
      if (how === 'flip') body[index % body.length]! ^= 1 << (index % 8);
      const sent = how === 'add' ? Buffer.concat([body, Buffer.from([index % 256])]) : how === 'cut' ? body.subarray(1) : body;
      expect(failureOf({ ...received, body: sent }, wide)).toBe('invalid');
    }), { numRuns: runs(150) });
  });

  function withoutEmptyQuery(target: string): string {
    return target.replace(/^([^?]*)\?$/, '$1');
  }
});

describe('what can be done to a signature without separators cannot be done to this one', () => {
  test('the end of the URL does not become a body, nor a body the end of the URL', () => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'POST', 'PUT']) {
      const whole = signed({ method, target: '/u/123' });
      expect(failureOf({ ...whole, target: '/u/12', body: Buffer.from('3') })).toBe('invalid');
      const split = signed({ method, target: '/u/12', body: '3' });
      expect(failureOf({ ...split, target: '/u/123', body: undefined })).toBe('invalid');
      expect(failureOf({ ...split, target: '/u/123', body: Buffer.alloc(0) })).toBe('invalid');
    }
    const form = signed({ method: 'POST', target: '/pay', body: 'to=bob&sum=1', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    expect(failureOf({ ...form, target: '/payto=bob', body: Buffer.from('&sum=1') })).toBe('invalid');
    const data = signed({ method: 'POST', target: '/a?', body: '{"a":1}', headers: json });
    expect(failureOf({ ...data, target: '/a?{"a":1}', body: undefined })).toBe('invalid');
  });

  test('digits do not move between body and time', () => {
    const received = signed({ method: 'POST', body: 'sum=1' });
    const input = received.headers['signature-input']!;
    for (const [created, body] of [['700000000', 'sum=11'], ['11700000000', 'sum='], ['1.7e9', 'sum=1'], ['01700000000', 'sum=1'], ['+1700000000', 'sum=1']] as const) {
      expect(failureOf({ ...received, body: Buffer.from(body), headers: { ...received.headers, 'signature-input': input.replace('1700000000', created) } })).toMatch(/invalid|expired/);
    }
  });

  test('the path does not become query, nor the method path', () => {
    const received = signed({ method: 'GET', target: '/a?b' });
    expect(failureOf({ ...received, target: '/a%3Fb' })).toBe('invalid');
    expect(failureOf({ ...received, target: '/a??b' })).toBe('invalid');
    expect(failureOf({ ...received, method: 'GE', target: '/T/a?b' })).toBe('invalid');
    expect(failureOf({ ...received, method: 'get' })).toBe('invalid');
  });

  test('a line of the base cannot be slipped into a value', () => {
    const line = 'x\n"x-b": y';
    const lines = signatureBase({ method: 'GET', target: '/', headers: { 'x-a': 'x', 'x-b': 'y' } }, ['x-a', 'x-b'], '()');
    expect(lines).toEqual({ base: '"x-a": x\n"x-b": y\n"@signature-params": ()' });
    for (const value of [line, 'x\r"x-b": y', 'x\0', 'x\x85y', 'x\u2028y']) {
      expect(signatureBase({ method: 'GET', target: '/', headers: { 'x-a': value } }, ['x-a'], '()')).toEqual({ lacks: 'x-a' });
      expect(signatureBase({ method: 'GET', target: '/', headers: { host: value } }, ['@authority'], '()')).toEqual({ lacks: '@authority' });
    }
  });

  test('spellings of a path that servers read alike are different ones', () => {
    const received = signed({ target: '/a/b' });
    for (const target of ['/a//b', '/a/./b', '/a/c/../b', '/%61/b', '/a%2Fb', '/A/b', '/a/b/', '/a/b.xJson', '//a/b', '/a;x/b', '/a\\b']) {
      expect(failureOf({ ...received, target })).toBe('invalid');
    }
  });

  test('bytes that decode alike are different ones', () => {
    for (const [one, two] of [[[0xff], [0xfe]], [[0xff], [0xef, 0xbf, 0xbd]], [[0xef, 0xbb, 0xbf, 0x61], [0x61]], [[0x80], [0xc2, 0x80]]] as const) {
      const received = signed({ method: 'POST', body: Buffer.from(one) });
      expect(failureOf(received)).toBeUndefined();
      expect(failureOf({ ...received, body: Buffer.from(two) })).toBe('invalid');
    }
  });

  test('neither version is the other\'s: a server takes no signature of the format without separators', () => {
    const headers = signRequest({ secret: SECRET, method: 'GET', url: '/', timestamp: NOW });
    const old = { 'svc-request-sig': headers['Svc-Request-Sig']!, 'x-timestamp': headers['X-Timestamp']! };
    expect(failureOf({ method: 'GET', target: '/', headers: old })).toBe('missing');
    expect(failureOf({ method: 'GET', target: '/', headers: { ...old, signature: old['svc-request-sig'] } })).toBe('invalid');
    const mac = Buffer.from(old['svc-request-sig'], 'hex').toString('base64');
    expect(failureOf({ method: 'GET', target: '/', headers: { ...signed().headers, signature: `sig1=:${mac}:` } })).toBe('invalid');
  });
});

describe('the grammar of the two headers', () => {
  const { 'signature-input': input, signature } = signed().headers as Record<'signature-input' | 'signature', string>;
  const mac = signature.slice(6, -1);
  const list = '("@method" "@path" "@query")';
  const time = `;created=${NOW / 1000}`;
  const nonce = `;nonce="${NONCE}"`;

  /** A signature that would hold, if only the text were let through. */
  function over(text: string): Received {
    const components = [...text.slice(0, text.lastIndexOf(')') + 1).matchAll(/"([^"]*)"/g)].map(([, name]) => name!);
    const headers = { 'x-a': '1', host: 'a', date: 'x' };
    const lines = signatureBase({ method: 'GET', target: '/', headers }, components, text);
    const value = messageMac(SECRET, 'base' in lines ? lines.base : '').toString('base64');
    return { method: 'GET', target: '/', headers: { ...headers, 'signature-input': `x=${text}`, signature: `x=:${value}:` } };
  }

  test('the ones that are tried below would be accepted, were they in order', () => {
    expect(reasonOf(over(`${list}${time}${nonce}`))).toBe('');
    expect(reasonOf(over(`${list}${nonce}${time};alg="hmac-sha256";expires=${NOW / 1000}`))).toBe('');
    expect(reasonOf(over(`("x-a" "@query" "@path" "@method" "date")${time}${nonce}`))).toBe('');
  });

  test.each([
    ['no parameters', list],
    ['no created', `${list}${nonce}`],
    ['created as a string', `${list};created="${NOW / 1000}"${nonce}`],
    ['created as a decimal', `${list}${time}.5${nonce}`],
    ['created as a whole decimal', `${list}${time}.0${nonce}`],
    ['created as a date', `${list};created=@${NOW / 1000}${nonce}`],
    ['created as a boolean', `${list};created${nonce}`],
    ['created in milliseconds', `${list};created=${NOW}${nonce}`],
    ['created with leading zeros', `${list};created=0${NOW / 1000}${nonce}`],
    ['created below zero', `${list};created=-${NOW / 1000}${nonce}`],
    ['created twice', `${list};created=1${time}${nonce}`],
    ['created twice alike', `${list}${time}${time}${nonce}`],
    ['expires as a string', `${list}${time}${nonce};expires="${NOW / 1000}"`],
    ['expires as a decimal', `${list}${time}${nonce};expires=${NOW / 1000 + 60}.5`],
    ['expires in the past', `${list}${time}${nonce};expires=1`],
    ['no nonce', `${list}${time}`],
    ['a short nonce', `${list}${time};nonce="123456789012345"`],
    ['an empty nonce', `${list}${time};nonce=""`],
    ['a nonce as a token', `${list}${time};nonce=abcdefghijklmnopqrst`],
    ['a nonce as an integer', `${list}${time};nonce=123456789012345`],
    ['a nonce as bytes', `${list}${time};nonce=:MTIzNDU2Nzg5MDEyMzQ1Njc4:`],
    ['a nonce as a display string', `${list}${time};nonce=%"abcdefghijklmnopqrst"`],
    ['a nonce not in ASCII', `${list}${time};nonce="äbcdefghijklmnopqrst"`],
    ['a nonce twice', `${list}${time};nonce="1"${nonce}`],
    ['another algorithm', `${list}${time}${nonce};alg="hmac-sha512"`],
    ['an asymmetric algorithm', `${list}${time}${nonce};alg="rsa-pss-sha512"`],
    ['no algorithm by name', `${list}${time}${nonce};alg="none"`],
    ['the algorithm as a token', `${list}${time}${nonce};alg=hmac-sha256`],
    ['the algorithm in upper case', `${list}${time}${nonce};alg="HMAC-SHA256"`],
    ['keyid as a token', `${list}${time}${nonce};keyid=a`],
    ['a tag', `${list}${time}${nonce};tag="app"`],
    ['an unknown parameter', `${list}${time}${nonce};x=1`],
    ['an unknown flag', `${list}${time}${nonce};x`],
    ['a parameter in upper case', `${list}${time}${nonce};Alg="hmac-sha256"`],
    ['a space after a semicolon', `${list}; created=${NOW / 1000}${nonce}`],
    ['two spaces in the list', `("@method"  "@path" "@query")${time}${nonce}`],
    ['a space after the bracket', `( "@method" "@path" "@query")${time}${nonce}`],
    ['a space before the bracket', `("@method" "@path" "@query" )${time}${nonce}`],
    ['no space in the list', `("@method""@path" "@query")${time}${nonce}`],
    ['a component twice', `("@method" "@path" "@query" "@path")${time}${nonce}`],
    ['a header twice', `("@method" "@path" "@query" "x-a" "x-a")${time}${nonce}`],
    ['@method of the request', `("@method";req "@path" "@query")${time}${nonce}`],
    ['@query by name', `("@method" "@path" "@query";name="a")${time}${nonce}`],
    ['a header strictly serialized', `${list.slice(0, -1)} "x-a";sf)${time}${nonce}`],
    ['a header as bytes', `${list.slice(0, -1)} "x-a";bs)${time}${nonce}`],
    ['a trailer', `${list.slice(0, -1)} "x-a";tr)${time}${nonce}`],
    ['a member of a header', `${list.slice(0, -1)} "x-a";key="a")${time}${nonce}`],
    ['a parameter that is false', `${list.slice(0, -1)} "x-a";sf=?0)${time}${nonce}`],
    ['a component as a token', `(@method "@path" "@query")${time}${nonce}`],
    ['a component as a plain token', `${list.slice(0, -1)} date)${time}${nonce}`],
    ['a component in upper case', `("@METHOD" "@path" "@query")${time}${nonce}`],
    ['a header in upper case', `${list.slice(0, -1)} "Date")${time}${nonce}`],
    ['a header that is absent', `${list.slice(0, -1)} "x-absent")${time}${nonce}`],
    ['the name of what every object has', `${list.slice(0, -1)} "constructor")${time}${nonce}`],
    ['__proto__', `${list.slice(0, -1)} "__proto__")${time}${nonce}`],
    ['@status', `${list.slice(0, -1)} "@status")${time}${nonce}`],
    ['@target-uri', `${list.slice(0, -1)} "@target-uri")${time}${nonce}`],
    ['@scheme', `${list.slice(0, -1)} "@scheme")${time}${nonce}`],
    ['@signature-params', `${list.slice(0, -1)} "@signature-params")${time}${nonce}`],
    ['@query-param', `${list.slice(0, -1)} "@query-param")${time}${nonce}`],
    ['an unknown derived component', `${list.slice(0, -1)} "@everything")${time}${nonce}`],
    ['an empty name', `${list.slice(0, -1)} "")${time}${nonce}`],
    ['a name with a quote', `${list.slice(0, -1)} "x\\"y")${time}${nonce}`],
    ['a bracket that is not closed', `("@method" "@path" "@query"${time}${nonce}`],
    ['text after it', `${list}${time}${nonce}x`],
    ['a comma after it', `${list}${time}${nonce},`],
    ['a second label', `${list}${time}${nonce}, y=${list}${time}${nonce}`],
    ['the same label again', `${list}${time}${nonce}, x=${list}${time}${nonce}`],
    ['the same label first with another list', `("@method");created=1, x=${list}${time}${nonce}`],
    ['an item', `"@method"${time}${nonce}`],
    ['nothing', ''],
    ['a line feed', `${list}\n${time}${nonce}`],
    ['a NUL', `${list}${time}${nonce}\0`],
  ])('refuses a Signature-Input with %s', (_, text) => {
    expect(failureOf(over(text))).toMatch(/^(?:invalid|expired)$/);
  });

  test('refuses for its own reason what would also be a wrong signature', () => {
    expect(reasonOf(over(`("@method" "@path" "@query" "@path")${time}${nonce}`))).toMatch(/@path is covered twice/);
    expect(reasonOf(over(`${list.slice(0, -1)} "x-a";tr)${time}${nonce}`))).toMatch(/the component x-a is of the trailers/);
    expect(reasonOf(over(`${list}${time}${nonce};tag="app"`))).toMatch(/no signature with no tag/);
    expect(reasonOf(over(`${list.slice(0, -1)} "@status")${time}${nonce}`))).toMatch(/@status is none that this request has/);
  });

  test.each([
    ['no label', `:${mac}:`], ['no value', 'sig1'], ['an empty one', ''], ['empty bytes', 'sig1=::'], ['no closing colon', `sig1=:${mac}`],
    ['a string', `sig1="${mac}"`], ['a token', 'sig1=abc'], ['a list', `sig1=(:${mac}:)`], ['a parameter', `sig1=:${mac}:;a`],
    ['another label', `sig2=:${mac}:`], ['a label in upper case', `SIG1=:${mac}:`], ['a second label', `sig1=:${mac}:, sig2=:${mac}:`],
    ['the same label twice', `sig1=:${mac}:, sig1=:${mac}:`], ['the header sent twice', `sig1=:AAAA:, sig1=:${mac}:`],
    ['one byte more', `sig1=:${Buffer.concat([Buffer.from(mac, 'base64'), Buffer.alloc(1)]).toString('base64')}:`],
    ['one byte less', `sig1=:${Buffer.from(mac, 'base64').subarray(1).toString('base64')}:`],
    ['64 bytes', `sig1=:${Buffer.alloc(64).toString('base64')}:`], ['no padding', `sig1=:${mac.slice(0, -1)}:`],
    ['stray bits in the last character', `sig1=:${mac.slice(0, -2)}${String.fromCharCode(mac.charCodeAt(42) + 1)}=:`],
    ['white space in the bytes', `sig1=:${mac.slice(0, 10)} ${mac.slice(10)}:`], ['hexadecimal', `sig1=:${Buffer.from(mac, 'base64').toString('hex')}:`],
    ['base64url', `sig1=:${'-_'.repeat(21)}A=:`], ['a space before', ` ${signature}`], ['a space after', `${signature} `], ['a tab', `${signature}\t`],
    ['a line feed', `${signature}\n`], ['text after it', `${signature}x`],
  ])('refuses a Signature with %s', (_, text) => {
    expect(failureOf({ method: 'GET', target: '/', headers: { 'signature-input': input, signature } })).toBeUndefined();
    expect(failureOf({ method: 'GET', target: '/', headers: { 'signature-input': input, signature: text } })).toBe('invalid');
  });

  test('any text is answered, never thrown at, and none passes', () => {
    const pieces = fc.constantFrom('sig1', '=', '(', ')', ':', '"', ';', ',', ' ', '@', '%', '?', '\\', 'created', '"@method"', '"@path"', mac, list, time, nonce, '-', '.', '1', '\t', 'ä', '\0');
    const texts = fc.array(pieces, { maxLength: 14 }).map((parts) => parts.join(''));
    fc.assert(fc.property(texts, texts, texts, (one, two, three) => {
      const headers = { signature: one, 'signature-input': two, 'content-digest': three };
      expect(failureOf({ method: 'GET', target: '/', headers: { ...headers, signature } })).toMatch(/invalid|expired/);
      expect(failureOf({ method: 'GET', target: '/', headers: { ...headers, 'signature-input': input } })).toBe(one === signature ? undefined : 'invalid');
      const received = signed({ method: 'POST', body: 'a' });
      expect(failureOf({ ...received, headers: { ...received.headers, 'content-digest': three } })).toBe('invalid');
    }), { numRuns: runs(150) });
  });

  test('a covered digest must be readable, whoever signed it', () => {
    for (const digest of ['', 'x', 'md5=:DMF1ucDxtqgxw5niaXcmYQ==:', 'sha-256=:AAAA:', `${contentDigest('a')}, ${contentDigest('a')}`]) {
      const headers = { 'content-digest': digest };
      const components = ['@method', '@path', '@query', 'content-digest'];
      const text = `(${components.map((name) => `"${name}"`).join(' ')})${time}${nonce}`;
      const lines = signatureBase({ method: 'POST', target: '/', headers }, components, text);
      const value = messageMac(SECRET, 'base' in lines ? lines.base : '').toString('base64');
      const received = { method: 'POST', target: '/', body: Buffer.from('a'), headers: { ...headers, 'signature-input': `s=${text}`, signature: `s=:${value}:` } };
      expect(reasonOf(received)).toMatch(/Content-Digest header/);
    }
  });

  test('how a body is read is covered by its very bytes: the strict form of Content-Type may be another text', () => {
    for (const name of ['content-type', 'content-encoding']) {
      for (const [form, reason] of [['', ''], [';bs', ''], [';sf', `${name} is not covered`]] as const) {
        const headers = { [name]: 'gzip;boundary=1' };
        const component = name + form;
        const text = `("@method" "@path" "@query" "${name}"${form})${time}${nonce}`;
        const lines = signatureBase({ method: 'GET', target: '/', headers }, ['@method', '@path', '@query', component], text);
        const value = messageMac(SECRET, 'base' in lines ? lines.base : '').toString('base64');
        const received = { method: 'GET', target: '/', headers: { ...headers, 'signature-input': `s=${text}`, signature: `s=:${value}:` } };
        expect([component, reasonOf(received)]).toEqual([component, expect.stringContaining(reason)]);
        if (reason === '') expect([component, failureOf(received)]).toEqual([component, undefined]);
      }
    }
  });

  test('headers as long as Node lets them be are read in linear time', () => {
    // Three times what --max-http-header-size lets through; a quadratic parser would run into the test's limit.
    const many = `sig1=(${'"a" '.repeat(200_000)}"b")${time}`;
    expect(failureOf({ method: 'GET', target: '/', headers: { signature, 'signature-input': many } })).toBe('invalid');
    const wideValue = signed({ headers: { 'X-A': `a${' '.repeat(500_000)}b` }, covers: ['x-a'] });
    expect(failureOf(wideValue)).toBeUndefined();
  });
});

describe('signMessage and the check', () => {
  test('agree on every combination of options', () => {
    const settings = fc.record({ includeBody: fc.boolean(), includeQuery: fc.boolean() });
    fc.assert(fc.property(settings, settings, contents, (client, server, { body, type, ...content }) => {
      const headers: Record<string, string> = type === undefined ? {} : { 'Content-Type': type };
      const received = { ...signed({ ...content, ...client, body, headers, timestamp: NOW }), body };
      const lacking = (server.includeQuery && !client.includeQuery) || (server.includeBody && !client.includeBody && body.length > 0);
      expect(failureOf(received, schemeOf(server))).toBe(lacking ? 'invalid' : undefined);
    }), { numRuns: runs(80) });
  });

  test('a signature made twice is the same one, and with a new nonce another', () => {
    const message = { secret: SECRET, method: 'GET', target: '/', timestamp: NOW };
    expect(signMessage({ ...message, nonce: NONCE })).toEqual(signMessage({ ...message, nonce: NONCE }));
    expect(signMessage(message)).not.toEqual(signMessage(message));
  });
});
