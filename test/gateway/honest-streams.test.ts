// Whatever an upstream sends as its stream: each event arrives as it was, in order, and the end is told as it was.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ModelsFile, startGateway } from '../support/gateway.ts';
import { shared } from '../support/shared.ts';

const modelsFile = (mockUrl: string): ModelsFile => ({
  upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
  models: { raw: { targets: [{ upstream: 'mock', model: 'raw' }] } },
});

const gateway = await shared(startGateway(modelsFile));

/** What stands in the stream: an event with data, or something that no client sees. */
type Part = { text: string; data?: string; ends?: 'done' | 'error'; finishes?: boolean };

const HEAD = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'raw' };
const NEWLINE = fc.constantFrom('\n', '\r\n');

const chunkOf = (delta: object, finish_reason: string | null = null): string =>
  JSON.stringify({ ...HEAD, choices: [{ index: 0, delta, finish_reason }] });

/** Texts in which the marks of a stream stand as mere words. */
const said = fc.oneof(
  fc.constantFrom(
    '"error"',
    '[DONE]',
    'data: [DONE]',
    'data: [DONE]\n\n',
    '"finish_reason":"stop"',
    '"prompt_tokens"',
    '{"error":{}}',
  ),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
);

const payload: fc.Arbitrary<Omit<Part, 'text'> & { data: string }> = fc.oneof(
  { weight: 8, arbitrary: said.map((content) => ({ data: chunkOf({ content }) })) },
  { weight: 1, arbitrary: fc.constant({ data: JSON.stringify({ ...HEAD, choices: [], error: null }) }) },
  { weight: 1, arbitrary: fc.constant({ data: '{"object":"something.of.tomorrow"}' }) },
  {
    weight: 1,
    arbitrary: said.map((message) => ({
      data: JSON.stringify({ error: { message, type: 'server_error', param: null, code: null } }),
      ends: 'error' as const,
    })),
  },
);

const event: fc.Arbitrary<Part> = fc
  .tuple(
    payload,
    NEWLINE,
    fc.constantFrom('data: ', 'data:'),
    fc.constantFrom('', 'event: x', 'id: 7', ': c'),
  )
  .map(([{ data, ...rest }, line, name, before]) => ({
    ...rest,
    data,
    text: `${before === '' ? '' : `${before}${line}`}${name}${data}${line}${line}`,
  }));
const unseen: fc.Arbitrary<Part> = fc
  .tuple(fc.constantFrom(': ping', ':', 'retry: 10'), NEWLINE)
  .map(([text, line]) => ({ text: `${text}${line}${line}` }));
const part = fc.oneof({ weight: 6, arbitrary: event }, { weight: 1, arbitrary: unseen });

/** The last chunk, the mark of the end, or neither; behind the last chunk there may be comments. */
const ending: fc.Arbitrary<Part[]> = fc
  .tuple(fc.boolean(), fc.array(unseen, { maxLength: 2 }), fc.boolean(), NEWLINE)
  .map(([finishes, comments, marked, line]) => {
    const data = chunkOf({}, 'stop');
    const last: Part[] = [{ data, finishes: true, text: `data: ${data}${line}${line}` }, ...comments];
    const mark: Part[] = [{ data: '[DONE]', ends: 'done', text: `data: [DONE]${line}${line}` }];
    return [...(finishes ? last : []), ...(marked ? mark : [])];
  });
const stream = fc
  .tuple(fc.array(part, { maxLength: 10 }), ending)
  .map(([parts, last]) => [...parts, ...last]);

/** The data of the events, as a client reads them. */
const read = (text: string): string[] =>
  text.split(/\r?\n\r?\n/).flatMap((block) => {
    const lines = block.split(/\r?\n/).filter((line) => line.startsWith('data:'));
    return lines.length === 0 ? [] : [lines.map((line) => line.replace(/^data: ?/, '')).join('\n')];
  });

type Answer = { status: number; events: string[] };

const ask = async (raw: Uint8Array, mock: object): Promise<Answer> => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'raw',
      stream: true,
      messages: [{ role: 'user', content: 'go' }],
      mock: { ...mock, raw: Buffer.from(raw).toString('base64') },
    }),
  });
  return { status: response.status, events: read(await response.text()) };
};

/** What has passed before the end, and how it ended. */
function expectedOf(parts: readonly Part[], dies: boolean): { passed: string[]; end: 'done' | 'error' } {
  const last = parts.findIndex(({ ends }) => ends !== undefined);
  const before = last === -1 ? parts : parts.slice(0, last);
  const passed = before.flatMap(({ data }) => data ?? []);
  const end = parts[last]?.ends;
  if (end !== undefined) return { passed, end };
  return { passed, end: !dies && before.some(({ finishes }) => finishes) ? 'done' : 'error' };
}

const endOf = (events: readonly string[]): string => {
  const last = events.at(-1) ?? '';
  return last === '[DONE]' ? 'done' : Object.keys(JSON.parse(last) as object).join();
};

test('any stream', async () => {
  const streams = fc.tuple(stream, fc.boolean(), fc.integer({ min: 3, max: 400 }));
  await fc.assert(
    fc.asyncProperty(streams, async ([parts, dies, size]) => {
      const raw = new TextEncoder().encode(parts.map(({ text }) => text).join(''));
      const { passed, end } = expectedOf(parts, dies);
      const isExpected = ({ status, events }: Answer): boolean =>
        status === 200
          ? Bun.deepEquals(events.slice(0, -1), passed) && endOf(events) === end
          : status === 502 && end === 'error';
      let answer = await ask(raw, { size, dies });
      // A connection that breaks off takes with it what was not read yet: the next one has more time to be read.
      for (const ms of dies ? [300, 3000] : [])
        if (!isExpected(answer)) answer = await ask(raw, { size, dies, ms });
      const { status, events } = answer;
      // Nothing has gone to the caller before the first event: such a failure has a status of its own.
      if (status !== 200) {
        expect({ status, end }).toEqual({ status: 502, end: 'error' });
        return;
      }
      expect(events.slice(0, -1)).toEqual(passed);
      expect(endOf(events)).toBe(end);
    }),
    { numRuns: 250 },
  );
});
