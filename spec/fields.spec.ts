import * as http from 'node:http';
import fc from 'fast-check';
import { fieldsOf } from '../lib/http/fields';

function response(): http.ServerResponse {
  return new http.ServerResponse({ method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 } as http.IncomingMessage);
}

const name = fc.constantFrom('ETag', 'Last-Modified', 'transfer-encoding', 'Content-Type', 'X-Other', 'CONTENT-LENGTH');
const step = fc.record({ name, removed: fc.boolean() });

/** A Node that keeps its fields as another version might: a map under a name of its own. */
function nodeOfAnotherMake(): typeof http {
  class OutgoingMessage {
    readonly held = new Map<string, unknown>();
    setHeader(field: string, value: unknown): void {
      this.held.set(field.toLowerCase(), value);
    }
  }
  return { ...http, OutgoingMessage } as unknown as typeof http;
}

function fieldsOfAnotherMake(): typeof fieldsOf {
  let found: typeof fieldsOf | undefined;
  jest.isolateModules(() => {
    jest.doMock('node:http', nodeOfAnotherMake);
    found = jest.requireActual<{ fieldsOf: typeof fieldsOf }>('../lib/http/fields').fieldsOf;
    jest.dontMock('node:http');
  });
  return found as typeof fieldsOf;
}

describe.each([
  ['as this Node keeps them', fieldsOf],
  ['asked for in public', fieldsOfAnotherMake()],
])('fields %s', (_name, fields) => {
  test('are null before the first is set', () => {
    expect(fields(response())).toBeNull();
  });

  test('are those that getHeaderNames tells', () => {
    fc.assert(fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      const res = response();
      for (const { name: field, removed } of steps) {
        if (removed) res.removeHeader(field);
        else res.setHeader(field, 'some');
        expect(Object.keys(fields(res) ?? {})).toEqual(res.getHeaderNames());
      }
    }), { numRuns: 500 });
  });
});

test('are looked at where this Node keeps them, without a call', () => {
  const res = response();
  res.setHeader('ETag', '"a"');
  const names = jest.spyOn(res, 'getHeaderNames');
  expect(fieldsOf(res)).toHaveProperty('etag');
  expect(names).not.toHaveBeenCalled();
  expect(fieldsOfAnotherMake()(res)).toHaveProperty('etag');
  expect(names).toHaveBeenCalled();
});
