const PARAMETER = /(:\w+|\*\*|\*)/g;

/** The names of a pattern's parameters, as `req.params` has them. */
export function parameterNames(pattern) {
  return (pattern.match(PARAMETER) ?? []).map((parameter) => parameter.replace(':', ''));
}

/** The values that a target gives the parameters, in order; undefined where the pattern does not match. */
export function readParameters(pattern, target) {
  const source = pattern.split(PARAMETER).map((part) => {
    if (part === '**') return '(.+)';
    if (part === '*') return '([^/]+)';
    return part.startsWith(':') ? '([^/]+?)' : part.replace(/[\\^$.+?()[\]{}|]/g, '\\$&');
  });
  const values = new RegExp(`^${source.join('')}$`).exec(splitTarget(target)[0])?.slice(1);
  try {
    return values?.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** The pattern's path with these values in it, and the query of another target. A slash stays one only in `**`. */
export function fillPattern(pattern, values, target) {
  const rest = [...values];
  const path = pattern.replace(PARAMETER, (parameter) => {
    const value = rest.shift() ?? '';
    return parameter === '**' ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value);
  });
  return path + splitTarget(target)[1];
}

function splitTarget(target) {
  const mark = target.indexOf('?');
  return mark === -1 ? [target, ''] : [target.slice(0, mark), target.slice(mark)];
}
