// Answers made before anybody asks: the least that an upstream can cost, for benchmarks. Asked for by the model's name
// `fast`, `fast-<n>` for a stream of n chunks.

import { chat, completions } from './openai-chat.ts';
import { embeddings } from './openai-others.ts';

const ASKS_FAST = /"model":\s*"fast(?:-(\d+))?"/;
const ASKS_STREAM = /"stream":\s*true/;

const JSON_HEADERS = { 'content-type': 'application/json', 'x-request-id': 'req_fast' };
const SSE_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': 'req_fast' };

const QUESTION = { messages: [{ role: 'user', content: 'Say hello' }], prompt: 'Say hello', input: 'hello' };
const CONTEXT = { model: 'fast', words: 8, mb: undefined };

const bytesOf = (value: unknown): Uint8Array<ArrayBuffer> => new TextEncoder().encode(JSON.stringify(value));

const ANSWERS = {
  chat: bytesOf(chat.reply(QUESTION, CONTEXT).whole),
  completions: bytesOf(completions.reply(QUESTION, CONTEXT).whole),
  embeddings: bytesOf(embeddings.reply(QUESTION, CONTEXT).whole),
};

const streams = new Map<string, Uint8Array<ArrayBuffer>>();

function streamOf(words: number, withUsage: boolean): Uint8Array<ArrayBuffer> {
  const name = `${words} ${withUsage}`;
  const made = streams.get(name);
  if (made !== undefined) return made;
  const question = { ...QUESTION, stream_options: { include_usage: withUsage } };
  const { events } = chat.reply(question, { ...CONTEXT, words });
  const bytes = new TextEncoder().encode(events.map((event) => `${event}\n\n`).join(''));
  streams.set(name, bytes);
  return bytes;
}

/** Undefined unless the text asks for the model `fast`. */
export function fastAnswer(text: string): Response | undefined {
  const asked = ASKS_FAST.exec(text);
  if (asked === null) return undefined;
  if (ASKS_STREAM.test(text)) {
    const bytes = streamOf(Number(asked[1] ?? 8), text.includes('"include_usage":true'));
    return new Response(bytes, { headers: SSE_HEADERS });
  }
  const wire = text.includes('"messages"')
    ? 'chat'
    : text.includes('"prompt"')
      ? 'completions'
      : 'embeddings';
  return new Response(ANSWERS[wire], { headers: JSON_HEADERS });
}
