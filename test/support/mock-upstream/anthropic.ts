// Anthropic's Messages API as it answers.

import { sampleOf } from './sample.ts';
import {
  type Body,
  countWords,
  isBody,
  listOf,
  nextId,
  type Reply,
  textOf,
  type Wire,
  wordsOf,
} from './wire.ts';

const TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

const anthropicError = (status: number, message: string): Body => ({
  type: 'error',
  error: { type: TYPES[status] ?? 'api_error', message },
  request_id: nextId('req'),
});

const event = (data: Body): string => `event: ${String(data['type'])}\ndata: ${JSON.stringify(data)}`;

const refusal = (message: string, param: string) => ({ status: 400, message, param });

function refuse(body: Body, headers: Headers) {
  if (headers.get('anthropic-version') === null)
    return refusal('anthropic-version: header is required', 'anthropic-version');
  if (headers.get('x-api-key') === null)
    return { status: 401, message: 'x-api-key header is required', param: null };
  if (typeof body['max_tokens'] !== 'number') return refusal('max_tokens: Field required', 'max_tokens');
  const messages = listOf(body['messages']);
  if (messages.length === 0) return refusal('messages: at least one message is required', 'messages');
  const odd = messages.findIndex(
    (each) => !isBody(each) || !['user', 'assistant'].includes(String(each['role'])),
  );
  if (odd !== -1) return refusal(`messages.${odd}.role: Input should be 'user' or 'assistant'`, 'messages');
  if (typeof body['temperature'] === 'number' && body['temperature'] > 1)
    return refusal('temperature: range: 0..1', 'temperature');
  return undefined;
}

function saidIn(messages: readonly unknown[]): string {
  const last = messages.at(-1);
  if (!isBody(last)) return '';
  if (typeof last['content'] === 'string') return last['content'];
  return listOf(last['content']).map(saidInBlock).join(' ');
}

function saidInBlock(block: unknown): string {
  if (!isBody(block)) return '';
  const { type, source } = block;
  if (type === 'tool_result') return `[result of ${String(block['tool_use_id'])}]`;
  if (type !== 'image' || !isBody(source)) return String(block['text'] ?? '');
  return `[image ${source['type'] === 'url' ? String(source['url']) : String(source['media_type'])}]`;
}

/** What the model says: a text, or the tools that it calls. */
function blocksOf(body: Body, size: { words: number | undefined; mb: number | undefined }): Body[] {
  const messages = listOf(body['messages']);
  const choice = isBody(body['tool_choice']) ? body['tool_choice'] : {};
  const answered = saidIn(messages).includes('[result of ');
  const tools = listOf(body['tools']).filter(isBody);
  if (tools.length > 0 && choice['type'] !== 'none' && !answered) {
    const called = choice['type'] === 'tool' ? tools.filter(({ name }) => name === choice['name']) : tools;
    const all = choice['disable_parallel_tool_use'] === true ? called.slice(0, 1) : called;
    return all.map((tool) => ({
      type: 'tool_use',
      id: nextId('toolu'),
      name: tool['name'],
      input: sampleOf(tool['input_schema']) ?? {},
    }));
  }
  return [{ type: 'text', text: structured(body) ?? textOf(saidIn(messages), size) }];
}

function structured(body: Body): string | undefined {
  const config = isBody(body['output_config']) ? body['output_config'] : {};
  const format = isBody(config['format']) ? config['format'] : body['output_format'];
  return isBody(format) ? JSON.stringify(sampleOf(format['schema'])) : undefined;
}

/** A block begins empty, grows, and ends. */
function eventsOf(block: Body, index: number): string[] {
  const isText = block['type'] === 'text';
  const text = isText ? String(block['text']) : JSON.stringify(block['input']);
  const parts = isText ? wordsOf(text) : ['', text.slice(0, 4), text.slice(4)];
  const deltaOf = (part: string): Body =>
    isText ? { type: 'text_delta', text: part } : { type: 'input_json_delta', partial_json: part };
  return [
    event({
      type: 'content_block_start',
      index,
      content_block: { ...block, ...(isText ? { text: '' } : { input: {} }) },
    }),
    ...parts.map((part) => event({ type: 'content_block_delta', index, delta: deltaOf(part) })),
    event({ type: 'content_block_stop', index }),
  ];
}

function reply(body: Body, { model, ...size }: Parameters<Wire['reply']>[1]): Reply {
  const said = blocksOf(body, size);
  const words = said.map((block) => String(block['text'] ?? '')).join('');
  const cut = wordsOf(words).length > Number(body['max_tokens']);
  const content = cut
    ? [{ type: 'text', text: wordsOf(words).slice(0, Number(body['max_tokens'])).join('') }]
    : said;
  const calls = content.some(({ type }) => type === 'tool_use');
  const stop_reason = cut ? 'max_tokens' : calls ? 'tool_use' : 'end_turn';
  const input = {
    input_tokens: countWords(JSON.stringify(body['messages'])),
    cache_creation_input_tokens: 2,
    cache_read_input_tokens: 3,
  };
  const output_tokens = wordsOf(words).length || 9;
  const head = { id: nextId('msg'), type: 'message', role: 'assistant', model };
  return {
    whole: { ...head, content, stop_reason, stop_sequence: null, usage: { ...input, output_tokens } },
    events: [
      event({
        type: 'message_start',
        message: {
          ...head,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...input, output_tokens: 1 },
        },
      }),
      event({ type: 'ping' }),
      ...content.flatMap(eventsOf),
      event({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } }),
      event({ type: 'message_stop' }),
    ],
    errorEvent: event(anthropicError(529, 'Overloaded')),
  };
}

export const messages: Wire = { refuse, reply, error: anthropicError };
