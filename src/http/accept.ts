// Content negotiation (RFC 9110, 12.4 and 12.5): what a client accepts, with the weights that it gives.

/** The entries of a header such as Accept or Accept-Language in lower case, with their weights; an entry with an invalid weight is left out. */
export function readWeights(header: string | null): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const entry of (header ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    if (name === '' || !/^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight)) continue;
    weights.set(name, Math.max(weights.get(name) ?? 0, Number(weight)));
  }
  return weights;
}

/** The more specific range counts: `text/html` before `text/*` before `*\/*`. */
const weightOfType = (weights: ReadonlyMap<string, number>, type: string): number =>
  weights.get(type) ?? weights.get(type.replace(/\/.*/, '/*')) ?? weights.get('*/*') ?? 0;

/** Whether the client would rather read a page than JSON, as browsers do. Programs that accept both alike get JSON. */
export function prefersHtml(request: Request): boolean {
  const weights = readWeights(request.headers.get('accept'));
  return weightOfType(weights, 'text/html') > weightOfType(weights, 'application/json');
}

/** The first of these encodings that the client accepts; undefined where it accepts none of them. */
export function acceptedEncoding<Name extends string>(
  request: Request,
  names: readonly Name[],
): Name | undefined {
  const weights = readWeights(request.headers.get('accept-encoding'));
  return names.find((name) => (weights.get(name) ?? weights.get('*') ?? 0) > 0);
}
