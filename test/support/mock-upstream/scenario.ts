// What a request asks of the mock: by the model's name, `<fault>[+<option>=<value>…]`, and by a field `mock` of the
// body with the same options (it wins). Both reach an upstream untouched through any gateway.

export const FAULTS = [
  /** An honest answer. */
  'ok',
  /** An honest answer from bytes made before, not recorded: for benchmarks. */
  'fast',
  /** `status-429` and so on, with the provider's error. */
  'status',
  /** 307 to `/mock/stolen`. */
  'redirect',
  /** No byte ever comes; of embeddings with `over` inputs at most, an honest answer. */
  'hang',
  /** Nothing comes after the first chunks, or the first half of a body. */
  'hang-mid',
  /** The socket is destroyed instead of an answer. */
  'die',
  /** It is destroyed after the first chunks, or the first half of a body. */
  'die-mid',
  /** A stream that says that it is finished, and ends without `[DONE]`. */
  'no-done',
  /** A stream that ends cleanly in the middle of its answer. */
  'cut',
  /** A stream whose third chunk is the provider's error. */
  'error-mid',
  /** A stream with a chunk that is not JSON. */
  'bad-chunk',
  /** Chunks at a distance of `ms`. */
  'trickle',
  /** Nothing for `ms`, then an honest answer. */
  'slow',
  /** Nothing until the test releases the key, then an honest answer. */
  'held',
  /** A stream of which nothing comes after the first chunks until the test releases the key, and then the rest. */
  'held-mid',
  /** Compressed, whatever was asked for. */
  'gzip',
  /** A text of `mb` megabytes. */
  'big',
  /** 200, and: */
  'invalid-json',
  'html',
  'empty',
  'not-an-object',
  /** A whole answer to whoever asked for a stream. */
  'unstreamed',
  /** A stream in packets of a few bytes, which end anywhere, within characters too. */
  'shards',
  /** A stream of the bytes that `raw` gives (base64), in packets of `size` of them; then it ends, or after `ms` it `dies`. */
  'raw',
  /** Lines that end with CRLF, and comments between the events. */
  'crlf',
] as const;

export type Fault = (typeof FAULTS)[number];

export type Scenario = {
  fault: Fault;
  /** Of `status-…`. */
  status: number;
  /** What is counted together: the model's whole name unless given. */
  key: string;
  /** The first so many requests of the key meet the fault, later ones do not. */
  times: number;
  /** Milliseconds between chunks, or before the first byte. */
  ms: number;
  /** Chunks before a fault in the middle. */
  after: number;
  /** Words of the answer; by default it repeats what it was told. */
  words: number | undefined;
  mb: number;
  /** More inputs than this are refused. */
  batch: number;
  over: number;
  raw: Uint8Array;
  size: number;
  dies: boolean;
  /** Headers of a refusal. */
  headers: Record<string, string>;
};

const HEADERS = ['retry-after', 'retry-after-ms', 'x-should-retry'];

/** Throws for a fault or an option that there is none of: a test that misspells it must not pass. */
export function parseScenario(model: string, mock: unknown): Scenario {
  const [name = '', ...pairs] = model.split('+');
  const options: Record<string, string> = { fault: name, key: model };
  for (const pair of pairs) {
    const [option = '', value = ''] = pair.split(/=(.*)/s);
    options[option] = value;
  }
  if (typeof mock === 'object' && mock !== null) {
    for (const [option, value] of Object.entries(mock)) options[option] = String(value);
  }
  return toScenario(options);
}

const OPTIONS = [
  'fault',
  'key',
  'times',
  'ms',
  'after',
  'words',
  'mb',
  'batch',
  'over',
  'raw',
  'size',
  'dies',
  ...HEADERS,
];

function toScenario(options: Record<string, string>): Scenario {
  const unknown = Object.keys(options).find((option) => !OPTIONS.includes(option));
  if (unknown !== undefined) throw new Error(`the mock has no option ${unknown}`);
  const number = (option: string, otherwise: number): number => {
    const given = options[option];
    if (given !== undefined && !/^\d+$/.test(given)) throw new Error(`${option} is not a number: ${given}`);
    return given === undefined ? otherwise : Number(given);
  };
  const given = options['fault'] ?? '';
  const status = /^status-(\d{3})$/.exec(given)?.[1];
  const fault = status === undefined ? FAULTS.find((each) => each === given) : 'status';
  if (fault === undefined) throw new Error(`the mock has no fault ${given}`);
  return {
    fault,
    status: Number(status ?? 200),
    key: options['key'] ?? '',
    times: number('times', Number.POSITIVE_INFINITY),
    ms: number('ms', 20),
    after: number('after', 2),
    words: options['words'] === undefined ? undefined : number('words', 0),
    mb: number('mb', 5),
    batch: number('batch', Number.POSITIVE_INFINITY),
    over: number('over', 0),
    raw: new Uint8Array(Buffer.from(options['raw'] ?? '', 'base64')),
    size: number('size', 11),
    dies: options['dies'] === 'true',
    headers: Object.fromEntries(
      HEADERS.flatMap((header) => {
        const value = options[header];
        return value === undefined ? [] : [[header, value]];
      }),
    ),
  };
}
