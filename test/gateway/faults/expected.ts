// What a caller sees of every fault of an upstream that is asked once more after a failure. `docs/reference/gateway-faults.md`
// is made from it, and `test/gateway/faults.test.ts` holds it against the service.

/** A whole right answer, the right beginning and then an error event without `[DONE]`, or a refusal's status. */
export type Outcome = 'answer' | 'cut short' | 'as it came' | number;

type Ways = { whole: Outcome; streamed: Outcome };

export type Row = {
  /** The mock's name of it. */
  fault: string;
  /** What the upstream does, for the page. */
  does: string;
  alone: Ways;
  /** With a fallback: `fallback` where its answer takes the place. */
  backed: { whole: Outcome | 'fallback'; streamed: Outcome | 'fallback' };
  /** How often the upstream is asked. */
  asked: { whole: number; streamed: number };
  /** Whether a request still runs when its caller has left: then it is cancelled. */
  running: { whole: boolean; streamed: boolean };
};

const both = <Value>(value: Value): { whole: Value; streamed: Value } => ({ whole: value, streamed: value });

type Given = Pick<Row, 'fault' | 'does'>;

const answered = (given: Given, asked = 1): Row => ({
  ...given,
  alone: both('answer'),
  backed: both('answer'),
  asked: both(asked),
  running: both(false),
});

const refused = (given: Given, status: number): Row => ({
  ...given,
  alone: both(status),
  backed: both(status),
  asked: both(1),
  running: both(false),
});

const replaced = (given: Given, status: number, asked: number): Row => ({
  ...given,
  alone: both(status),
  backed: both('fallback'),
  asked: both(asked),
  running: both(false),
});

/** A fault of streams alone: a whole answer is as it should be. */
const streamedOnly = (given: Given, outcome: Outcome): Row => ({
  ...answered(given),
  alone: { whole: 'answer', streamed: outcome },
  backed: { whole: 'answer', streamed: outcome },
});

/** A fault in the middle: a whole answer has not begun for the caller, a stream has. */
const midway = (given: Given, status: number, asked: number): Row => ({
  ...given,
  alone: { whole: status, streamed: 'cut short' },
  backed: { whole: 'fallback', streamed: 'cut short' },
  asked: { whole: asked, streamed: 1 },
  running: both(false),
});

export const ROWS: readonly Row[] = [
  answered({ fault: 'ok', does: 'answers' }),
  {
    ...answered({ fault: 'slow+ms=4000', does: 'takes a while before its first byte' }),
    running: both(true),
  },
  {
    ...answered({ fault: 'trickle+ms=300', does: 'answers in drops' }),
    running: { whole: false, streamed: true },
  },
  answered({ fault: 'shards', does: 'sends packets that end within events and characters' }),
  answered({ fault: 'crlf', does: 'ends lines with CRLF, and sends comments' }),
  answered({ fault: 'gzip', does: 'compresses what it sends' }),
  answered({ fault: 'big', does: 'sends 5 MB, streamed in one event' }),
  answered({ fault: 'status-500+times=1', does: 'fails once with 500' }, 2),
  answered({ fault: 'status-429+times=1+retry-after-ms=50', does: 'refuses once with 429 and a pause' }, 2),
  answered({ fault: 'die+times=1', does: 'hangs up once' }, 2),
  refused({ fault: 'status-400', does: 'refuses with 400' }, 400),
  refused({ fault: 'status-404', does: 'refuses with 404' }, 404),
  refused({ fault: 'status-413', does: 'refuses with 413' }, 413),
  refused({ fault: 'status-422', does: 'refuses with 422' }, 422),
  refused({ fault: 'status-401', does: "refuses the service's key with 401" }, 502),
  refused({ fault: 'status-403', does: "refuses the service's key with 403" }, 502),
  refused({ fault: 'redirect', does: 'redirects' }, 502),
  replaced({ fault: 'status-408', does: 'answers 408' }, 408, 2),
  replaced({ fault: 'status-409', does: 'answers 409' }, 409, 2),
  replaced({ fault: 'status-429', does: 'answers 429' }, 429, 2),
  replaced(
    { fault: 'status-429+retry-after=60', does: 'answers 429, with a pause that is too long' },
    429,
    1,
  ),
  replaced({ fault: 'status-500', does: 'answers 500' }, 500, 2),
  replaced({ fault: 'status-503', does: 'answers 503' }, 503, 2),
  replaced({ fault: 'status-529', does: 'answers 529' }, 529, 2),
  replaced({ fault: 'refused', does: 'refuses the connection' }, 502, 0),
  replaced({ fault: 'die', does: 'hangs up before its answer' }, 502, 2),
  { ...replaced({ fault: 'hang', does: 'says nothing' }, 504, 1), running: both(true) },
  replaced({ fault: 'invalid-json', does: 'answers 200 with half of a JSON text' }, 502, 2),
  replaced({ fault: 'html', does: 'answers 200 with a page of HTML' }, 502, 2),
  replaced({ fault: 'empty', does: 'answers 200 with nothing' }, 502, 2),
  replaced({ fault: 'not-an-object', does: 'answers 200 with a JSON array' }, 502, 2),
  midway({ fault: 'die-mid', does: 'hangs up in the middle' }, 502, 2),
  { ...midway({ fault: 'hang-mid', does: 'falls silent in the middle' }, 504, 1), running: both(true) },
  streamedOnly({ fault: 'no-done', does: 'finishes a stream without `[DONE]`' }, 'answer'),
  streamedOnly({ fault: 'cut', does: 'ends a stream cleanly in the middle' }, 'cut short'),
  streamedOnly({ fault: 'error-mid', does: 'sends an error within a stream' }, 'cut short'),
  streamedOnly({ fault: 'bad-chunk', does: 'sends an event that is no JSON' }, 'as it came'),
  streamedOnly({ fault: 'unstreamed', does: 'answers whole when asked for a stream' }, 'answer'),
];

const WORDS: Record<string, string> = {
  answer: 'its answer',
  'cut short': 'what came, then an error event',
  'as it came': 'passed on as it came',
  fallback: "the fallback's answer",
};

const wordsOf = (outcome: Outcome | 'fallback'): string => WORDS[outcome] ?? String(outcome);

function renderRow({ does, alone, backed, asked, running }: Row): string {
  const times =
    asked.whole === asked.streamed ? `${asked.whole}` : `${asked.whole}, streamed ${asked.streamed}`;
  const left = running.streamed ? 'cancelled' : 'nothing more is asked';
  const outcomes = [alone.whole, backed.whole, alone.streamed, backed.streamed].map(wordsOf);
  return `| ${[does, ...outcomes, times, left].join(' | ')} |`;
}

export const renderFaults = (): string => `# When an upstream fails

Made by \`bun test/support/generated-pages.ts\` from \`test/gateway/faults/expected.ts\`. \`test/gateway/faults.test.ts\`
holds every cell against the service, before an upstream that has \`retries: 1\`.

A number is the status of a refusal in OpenAI's shape, which names neither the upstream's key nor its host, nor shows
what it said with 401 or 403. "What came, then an error event": a stream that has begun ends with \`data: {"error": …}\`,
on which SDKs throw, and without \`[DONE]\`. Nothing is tried again once a byte has gone to the caller. When the caller
leaves, what still runs at the upstream is cancelled within 100 ms, before its headers and in the middle of an answer,
and neither a retry nor a fallback is asked any more.

| the upstream | whole | whole, with a fallback | streamed | streamed, with a fallback | times asked | the caller leaves |
|---|---|---|---|---|---|---|
${ROWS.map(renderRow).join('\n')}
`;
