/** What a browser sets itself, and no script may. */
const FORBIDDEN = /^(?:cookie|host|connection|content-length|transfer-encoding)$/i;

/**
 * The request that a line of the page sends: a curl command, alone or behind a
 * signing script. Undefined where a browser can't send it.
 */
export function readLine(line) {
  const commands = words(line);
  const curl = commands?.pop();
  if (curl?.[0] !== 'curl' || commands.length > 1) return undefined;
  const request = readCurl(curl.slice(1));
  if (request === undefined || request.fields.some(([name]) => FORBIDDEN.test(name))) return undefined;
  const [script] = commands;
  if (script === undefined) return { ...request, signature: 'none' };
  if (!script[1].startsWith('demo/sign.')) return undefined;
  const [method, url, body = ''] = script.slice(2);
  const same = method === request.method && targetOf(url) === request.target && body === request.body;
  return { ...request, signature: same ? 'right' : 'changed' };
}

/** The commands of a line, each as its words: bare, or in single quotes. */
function words(line) {
  const commands = [[]];
  for (const [, quoted, bare] of line.matchAll(/'([^']*)'|(\S+)/g)) {
    if (bare === '|') commands.push([]);
    else commands.at(-1).push(quoted ?? bare);
  }
  return commands;
}

function readCurl(args) {
  let method;
  let target;
  let body = '';
  const fields = [];
  const addField = (line) => fields.push(splitField(line));
  const options = {
    '-i': () => undefined,
    '-s': () => undefined,
    '-N': () => undefined,
    '-D': () => args.shift(),
    '-o': () => args.shift(),
    '-I': () => (method = 'HEAD'),
    '-X': () => (method = args.shift()),
    '-r': () => addField(`Range: bytes=${args.shift()}`),
    '-H': () => (args[0] === '@-' ? args.shift() : addField(args.shift())),
    '-d': () => (body = args.shift()),
  };
  while (args.length > 0) {
    const arg = args.shift();
    if (Object.hasOwn(options, arg)) options[arg]();
    else if (URL.canParse(arg)) target = targetOf(arg);
    else return undefined;
  }
  if (body !== '' && !fields.some(([name]) => /^content-type$/i.test(name))) fields.push(['Content-Type', 'application/x-www-form-urlencoded']);
  return target === undefined ? undefined : { method: method ?? (body === '' ? 'GET' : 'POST'), target, fields, body };
}

function targetOf(url) {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

/** The name and the value of a header field's line. */
export function splitField(line) {
  const colon = line.indexOf(':');
  return colon === -1 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}
