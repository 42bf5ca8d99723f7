// The answer of `local-echo` in the shape of OpenAI's API: whole, or as a stream that is made while it is read.

import { newRandomId } from '../../core/ids.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { nextTimeSlice } from '../../core/time-slices.ts';
import type { Answer, StreamAnswer } from '../answer.ts';
import { LOCAL_CHAT_MODEL } from '../catalogue/model.ts';
import { DONE, toEvent } from '../events.ts';
import { STREAM_BLOCK_UNITS } from '../limits.ts';
import type { Usage } from '../usage.ts';
import { type Said, tokensOf } from './echo.ts';

/** How a kind of completion is written; each function gives a choice without its index and finish reason. */
export type Wire = {
  idPrefix: string;
  object: string;
  chunkObject: string;
  whole(text: string): JsonObject;
  /** The text that precedes the answer; undefined: none. */
  begin(): JsonObject | undefined;
  piece(text: string): JsonObject;
  end(): JsonObject;
};

export const COMPLETION_WIRE: Wire = {
  idPrefix: 'cmpl-',
  object: 'text_completion',
  chunkObject: 'text_completion',
  whole: (text) => ({ text, logprobs: null }),
  begin: () => undefined,
  piece: (text) => ({ text, logprobs: null }),
  end: () => ({ text: '', logprobs: null }),
};

const CHAT = { idPrefix: 'chatcmpl-', object: 'chat.completion', chunkObject: 'chat.completion.chunk' };
const deltaOf = (delta: JsonObject): JsonObject => ({ delta, logprobs: null });

export const CHAT_WIRE: Wire = {
  ...CHAT,
  whole: (content) => ({ message: { role: 'assistant', content, refusal: null }, logprobs: null }),
  begin: () => deltaOf({ role: 'assistant', content: '', refusal: null }),
  piece: (content) => deltaOf({ content }),
  end: () => deltaOf({}),
};

/** The text is the arguments of a call of this tool. */
export const toolCallWire = (name: string): Wire => {
  const call = (args: string) => ({
    id: `call_${newRandomId()}`,
    type: 'function',
    function: { name, arguments: args },
  });
  const message = (toolCall: JsonObject): JsonObject => ({
    role: 'assistant',
    content: null,
    refusal: null,
    tool_calls: [toolCall],
  });
  return {
    ...CHAT,
    whole: (args) => ({ message: message(call(args)), logprobs: null }),
    begin: () => deltaOf(message({ index: 0, ...call('') })),
    piece: (args) => deltaOf({ tool_calls: [{ index: 0, function: { arguments: args } }] }),
    end: () => deltaOf({}),
  };
};

export function render(
  said: readonly Said[],
  options: { wire: Wire; promptTokens: number; stream: boolean; includeUsage: boolean },
): Answer {
  const { wire, promptTokens, stream, includeUsage } = options;
  const completionTokens = said.reduce((sum, { tokens }) => sum + tokens, 0);
  const usage: Usage = { promptTokens, completionTokens, estimated: false };
  const base = {
    id: `${wire.idPrefix}${newRandomId()}`,
    object: stream ? wire.chunkObject : wire.object,
    created: Math.floor(Date.now() / 1000),
    model: LOCAL_CHAT_MODEL,
  };
  if (stream) return toStream(eventsOf(said, { wire, usage, base, includeUsage }));
  const choices = said.map(({ text, finishReason }, index) => ({
    index,
    ...wire.whole(text),
    finish_reason: finishReason,
  }));
  return {
    kind: 'whole',
    status: 200,
    headers: {},
    usage,
    bytes: Buffer.from(JSON.stringify({ ...base, choices, usage: toWire(usage) })),
  };
}

/** The usage always ends a stream: it is accounted for, and clients that did not ask for it are not shown it. */
function* eventsOf(
  said: readonly Said[],
  options: { wire: Wire; usage: Usage; base: JsonObject; includeUsage: boolean },
): Generator<string> {
  const { wire, usage, base, includeUsage } = options;
  const nothing = includeUsage ? { usage: null } : {};
  const event = (choice: JsonObject, index: number, reason: Json): string =>
    toEvent({ ...base, choices: [{ index, ...choice, finish_reason: reason }], ...nothing });
  for (const [index, { text, finishReason }] of said.entries()) {
    const begin = wire.begin();
    if (begin !== undefined) yield event(begin, index, null);
    for (const token of tokensOf(text)) yield event(wire.piece(token), index, null);
    yield event(wire.end(), index, finishReason);
  }
  yield toEvent({ ...base, choices: [], usage: toWire(usage) });
  yield DONE;
}

const toWire = ({ promptTokens, completionTokens }: Usage): JsonObject => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
});

/**
 * Events that are made as they are read, a block in each time slice, so that a long stream does not delay other requests.
 * Cancelling ends the iteration.
 */
function toStream(events: Generator<string>): StreamAnswer {
  const first = events.next();
  let begun = false;
  return {
    kind: 'stream',
    headers: {},
    first: Buffer.from(first.done === true ? '' : first.value),
    blocks: {
      async next() {
        if (begun) await nextTimeSlice();
        begun = true;
        let text = '';
        while (text.length < STREAM_BLOCK_UNITS) {
          const { value, done } = events.next();
          if (done === true) break;
          text += value;
        }
        return text === '' ? undefined : Buffer.from(text);
      },
      cancel: () => void events.return(undefined),
    },
    settle: () => undefined,
    touch: () => undefined,
    rest: () => undefined,
    expired: () => undefined,
  };
}
