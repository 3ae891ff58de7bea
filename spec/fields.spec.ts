import * as http from 'node:http';
import fc from 'fast-check';
import { fieldsOf, isAscii, learnName, setKnown } from '../lib/http/node/header-fields';
import { Response } from '../lib/http/response';
import { anyCharacter } from './support/any-character';
import { runs } from './support/runs';

function response(): http.ServerResponse {
  return new http.ServerResponse({ method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 } as http.IncomingMessage);
}

const name = fc.constantFrom('ETag', 'Last-Modified', 'transfer-encoding', 'Content-Type', 'X-Other', 'CONTENT-LENGTH');
const step = fc.record({ name, removed: fc.boolean() });

/** As they were written; Node's declarations leave it out. */
function rawNames(res: http.ServerResponse): string[] {
  return (res as unknown as { getRawHeaderNames(): string[] }).getRawHeaderNames();
}

type Module = typeof import('../lib/http/node/header-fields');

/** The module as it is loaded under that `node:http`. */
function loadUnder(make: () => typeof http): Module {
  let found: Module | undefined;
  jest.isolateModules(() => {
    jest.doMock('node:http', make);
    found = jest.requireActual<Module>('../lib/http/node/header-fields');
    jest.dontMock('node:http');
  });
  return found as Module;
}

/** A Node that keeps its fields as another version might: a map under a name of its own. */
function nodeOfAnotherMake(): typeof http {
  class OutgoingMessage {
    readonly held = new Map<string, unknown>();
    setHeader(field: string, value: unknown): void {
      // ERR_HTTP_HEADERS_SENT is what Node's own speaks of.
      this.held.set(field.toLowerCase(), value);
    }
  }
  return { ...http, OutgoingMessage } as unknown as typeof http;
}

const fieldsOfAnotherMake = (): typeof fieldsOf => loadUnder(nodeOfAnotherMake).fieldsOf;

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
    }), { numRuns: runs(100) });
  });
});

describe('a field whose name is known', () => {
  test('is set as Node sets it, and by Node where it would refuse', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: anyCharacter }), fc.constantFrom('', '\t', '\u00e9', '\u0100', '\x7f', 'a\r\nb'));
    const value = fc.oneof(text, fc.integer(), fc.double(), fc.boolean(), fc.array(text, { maxLength: 2 }), fc.constantFrom<unknown>(undefined, null, {}));
    learnName('X-Some');
    learnName('x-some');
    fc.assert(fc.property(fc.array(fc.tuple(fc.constantFrom('X-Some', 'x-some', 'X-Other'), value), { minLength: 1, maxLength: 4 }), (calls) => {
      const [ours, theirs] = [response(), response()];
      for (const [field, given] of calls) {
        let refused = false;
        try {
          theirs.setHeader(field, given as string);
        } catch {
          refused = true;
        }
        const taken = setKnown(ours, field, given);
        // Lists are Node's to set, and what is not ASCII.
        expect(taken).toBe(!refused && field !== 'X-Other' && ((typeof given === 'string' && isAscii(given)) || typeof given === 'number'));
        if (!taken && !refused) ours.setHeader(field, given as string);
      }
      expect(ours.getHeaders()).toEqual(theirs.getHeaders());
      expect(rawNames(ours)).toEqual(rawNames(theirs));
    }), { numRuns: runs(400) });
  });

  test('is Node\'s to refuse once the head is out', () => {
    const res = response();
    learnName('X-Late');
    res.writeHead(200);
    expect(setKnown(res, 'X-Late', 'a')).toBe(false);
  });

  test('is known if it is among the first 256', () => {
    const { learnName: learn, setKnown: set } = loadUnder(() => http);
    for (let i = 0; i < 300; i++) learn(`X-${i}`);
    expect([0, 255, 256, 299].map((i) => set(response(), `X-${i}`, 'a'))).toEqual([true, true, false, false]);
  });

  test('is told to who has replaced setHeader on the prototype, before or after this was loaded', () => {
    const told: unknown[] = [];
    const original = http.OutgoingMessage.prototype.setHeader;
    function traced(this: http.OutgoingMessage, field: string, given: string): http.OutgoingMessage {
      told.push(field);
      return original.call(this, field, given);
    }
    for (const { prototype } of [http.ServerResponse, http.OutgoingMessage]) {
      prototype.setHeader = traced as typeof original;
      try {
        const early = loadUnder(() => http);
        early.learnName('X-Known');
        expect(early.setKnown(response(), 'X-Known', 'a')).toBe(false);
        const res = new Response({ method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 } as http.IncomingMessage);
        for (const field of ['X-Known', 'X-Known', 'Content-Type']) res.setHeader(field, 'a');
        expect(told.splice(0)).toEqual(['X-Known', 'X-Known', 'Content-Type']);
      } finally {
        if (prototype === http.OutgoingMessage.prototype) prototype.setHeader = original;
        else delete (prototype as Partial<http.ServerResponse>).setHeader;
      }
    }
  });
});
