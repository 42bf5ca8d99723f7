// Anthropic's events as chunks of a chat completion.

import { isObject, type JsonObject } from '../../../core/json.ts';
import { StreamMeter } from '../../usage.ts';
import type { StreamTranslation } from '../adapter.ts';
import { toOpenAiError } from './error.ts';
import { toAccountedUsage, toFinishReason, toUsage } from './response.ts';

type Context = { model: string; created: number; includeUsage: boolean };

/** The tool whose arguments are coming: OpenAI counts tools, Anthropic counts blocks. */
type OpenTool = { block: unknown; index: number; isEmpty: boolean };

type State = {
  id: unknown;
  usage: JsonObject;
  tools: number;
  open: OpenTool | undefined;
  done: boolean;
  meter: StreamMeter;
};

type Handler = (
  event: JsonObject,
  state: State,
  chunk: (delta: JsonObject, finish?: string) => JsonObject,
) => JsonObject[];

const partOf = (event: JsonObject, name: string): JsonObject => (isObject(event[name]) ? event[name] : {});

function tell({ usage, meter }: State): void {
  const told = toAccountedUsage(usage);
  if (told !== undefined) meter.tell(told);
}

const argumentsOf = (tool: OpenTool, text: string): JsonObject => ({
  tool_calls: [{ index: tool.index, function: { arguments: text } }],
});

const HANDLERS: Record<string, Handler> = {
  message_start(event, state, chunk) {
    const message = partOf(event, 'message');
    state.id = message['id'];
    state.usage = partOf(message, 'usage');
    tell(state);
    return [chunk({ role: 'assistant', content: '', refusal: null })];
  },

  content_block_start(event, state, chunk) {
    const block = partOf(event, 'content_block');
    if (block['type'] === 'text')
      return typeof block['text'] === 'string' && block['text'] !== ''
        ? [chunk({ content: block['text'] })]
        : [];
    if (block['type'] !== 'tool_use') return [];
    state.open = { block: event['index'], index: state.tools++, isEmpty: true };
    const called = { name: block['name'], arguments: '' };
    return [
      chunk({
        tool_calls: [{ index: state.open.index, id: block['id'], type: 'function', function: called }],
      }),
    ];
  },

  content_block_delta(event, { open, meter }, chunk) {
    const delta = partOf(event, 'delta');
    const said = delta['text'] ?? delta['thinking'] ?? delta['partial_json'];
    if (typeof said === 'string' && said !== '') meter.add(Buffer.byteLength(said));
    if (delta['type'] === 'text_delta') return [chunk({ content: delta['text'] })];
    const text = delta['partial_json'];
    if (delta['type'] !== 'input_json_delta' || typeof text !== 'string' || text === '') return [];
    if (open === undefined || open.block !== event['index'])
      throw new Error('arguments of a tool that has not begun');
    open.isEmpty = false;
    return [chunk(argumentsOf(open, text))];
  },

  content_block_stop(event, state, chunk) {
    const { open } = state;
    if (open === undefined || open.block !== event['index']) return [];
    state.open = undefined;
    // Clients parse the arguments: none at all must still be an object.
    return open.isEmpty ? [chunk(argumentsOf(open, '{}'))] : [];
  },

  message_delta(event, state, chunk) {
    // Counts here are of the whole message, and take the place of those that came at its start.
    state.usage = { ...state.usage, ...partOf(event, 'usage') };
    if (partOf(event, 'usage')['output_tokens'] !== undefined) tell(state);
    const reason = partOf(event, 'delta')['stop_reason'];
    return typeof reason === 'string' ? [chunk({}, toFinishReason(reason))] : [];
  },

  message_stop(_event, state) {
    state.done = true;
    return [];
  },
};

/** One stream. Events of kinds that came to be later than this are passed over, as Anthropic asks of its clients. */
export function createStreamTranslation({ model, created, includeUsage }: Context): StreamTranslation {
  const state: State = {
    id: undefined,
    usage: {},
    tools: 0,
    open: undefined,
    done: false,
    meter: new StreamMeter(),
  };
  const head = () => ({ id: state.id as string, object: 'chat.completion.chunk', created, model });
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...head(),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includeUsage && { usage: null }),
  });

  return {
    event({ name, chunk: event }) {
      if (event === undefined) throw new Error('an event is no object');
      const type = typeof event['type'] === 'string' ? event['type'] : name;
      if (type === 'error') return [{ error: toOpenAiError(500, event) }];
      if (state.id === undefined && type.startsWith('content_block'))
        throw new Error('the message has not begun');
      const chunks = Object.hasOwn(HANDLERS, type) ? (HANDLERS[type]?.(event, state, chunk) ?? []) : [];
      return type === 'message_stop' && includeUsage
        ? [...chunks, { ...head(), choices: [], usage: toUsage(state.usage) }]
        : chunks;
    },
    done: () => state.done,
    meter: state.meter,
  };
}
