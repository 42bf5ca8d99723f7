// Asks the gateway as a caller does, and says what came of it.

import { type RunningGateway, UPSTREAM_KEY } from '../../support/gateway.ts';
import { SECRET } from '../../support/mock-upstream/play.ts';
import { type Cell, TIMEOUTS_MS } from './cells.ts';

const SAID = 'one two three four';
const ANSWER = `You said: ${SAID}`;
const BIG = 'lorem ipsum '.repeat(Math.ceil((5 * 1024 * 1024) / 12));

export type Asked = { url: string; key: string; model: string; stream: boolean; signal?: AbortSignal };

export const send = ({ url, key, model, stream, signal }: Asked): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: SAID }] }),
    ...(signal === undefined ? {} : { signal }),
  });

/** The outcome in the words of `expected.ts`; anything else is described. */
export async function outcomeOf(
  response: Response,
  { row, way }: Cell,
  { mock }: RunningGateway,
): Promise<string> {
  const text = await response.text();
  const leak = [SECRET, UPSTREAM_KEY, new URL(mock.url).host].find((secret) => text.includes(secret));
  if (leak !== undefined) return `shows ${leak}: ${text.slice(0, 300)}`;
  if (response.status !== 200) return refusalIn(text) ?? String(response.status);
  const expected = row.fault === 'big' ? BIG : ANSWER;
  return way === 'whole' ? wholeOutcome(text, expected) : streamOutcome(response, text, expected);
}

/** What is wrong with a refusal; undefined when it is as OpenAI's are. */
function refusalIn(text: string): string | undefined {
  const { error } = parse(text) as { error?: Record<string, unknown> };
  const members = Object.keys(error ?? {});
  const lacking = ['message', 'type', 'param', 'code'].filter((name) => !members.includes(name));
  return lacking.length === 0 ? undefined : `a refusal without ${lacking.join(', ')}: ${text.slice(0, 300)}`;
}

function parse(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    return {};
  }
}

type Completion = { choices?: { message: { content: string } }[] };

function wholeOutcome(text: string, expected: string): string {
  const { choices } = parse(text) as Completion;
  return choices?.[0]?.message.content === expected ? 'answer' : `another answer: ${text.slice(0, 300)}`;
}

type Chunk = { choices?: { delta: { content?: string } }[]; error?: Record<string, unknown> };

function streamOutcome(response: Response, text: string, expected: string): string {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return `no stream: ${text.slice(0, 300)}`;
  const events = text
    .split(/\r?\n\r?\n/)
    .flatMap((block) => block.split(/\r?\n/))
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice(6));
  const done = events.at(-1) === '[DONE]';
  if (done && text.includes('{"id": not json')) return 'as it came';
  const chunks = events.filter((event) => event !== '[DONE]').map((event) => parse(event) as Chunk);
  const said = chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('');
  const error = chunks.at(-1)?.error;
  if (done && error === undefined && said === expected) return 'answer';
  if (
    !done &&
    error !== undefined &&
    refusalIn(JSON.stringify({ error })) === undefined &&
    said !== '' &&
    expected.startsWith(said)
  )
    return 'cut short';
  return `another stream: ${text.slice(-300)}`;
}

export const now = (): number => performance.timeOrigin + performance.now();

/** Longer than any time-out of an attempt, so that whatever would still be asked has been. */
export const AFTERMATH_MS = TIMEOUTS_MS.first_byte + 500;
