// Converts a chat completion's request to Anthropic's Messages API. Options that the API ignores according to its
// documentation (seeds, penalties, biases) are omitted; options that change the answer's shape and are unsupported are refused.

import { isObject, type Json, type JsonObject } from '../../../core/json.ts';
import { UntranslatableRequest } from '../adapter.ts';
import { toMessages } from './messages.ts';
import { isAbsent, requireObject } from './shapes.ts';
import { toToolChoice, toTools } from './tools.ts';

/** Anthropic requires a limit; every one of its models accepts this one. */
const MAX_TOKENS_DEFAULT = 4096;

/** OpenAI's scale ends at 2, Anthropic's at 1. */
const TEMPERATURE_MAX = 1;

/** Throws UntranslatableRequest, naming the field. */
export function toMessagesRequest(body: JsonObject, model: string): JsonObject {
  refuseImpossible(body);
  const { system, messages } = toMessages(body['messages']);
  const tools = toTools(body['tools']);
  const choice = toToolChoice(body, tools !== undefined);
  const config = toOutputConfig(body);
  return {
    model,
    max_tokens: body['max_completion_tokens'] ?? body['max_tokens'] ?? MAX_TOKENS_DEFAULT,
    messages,
    ...(system.length > 0 && { system }),
    ...(tools !== undefined && { tools }),
    ...(choice !== undefined && { tool_choice: choice }),
    ...(config !== undefined && { output_config: config }),
    ...present('temperature', lowered(body['temperature'])),
    ...present('top_p', body['top_p']),
    ...present('top_k', body['top_k']),
    ...present('stop_sequences', typeof body['stop'] === 'string' ? [body['stop']] : body['stop']),
    ...present('stream', body['stream']),
    ...(typeof body['user'] === 'string' && { metadata: { user_id: body['user'] } }),
  };
}

const present = (name: string, value: Json | undefined): JsonObject =>
  isAbsent(value) ? {} : { [name]: value };

const lowered = (temperature: Json | undefined): Json | undefined =>
  typeof temperature === 'number' ? Math.min(temperature, TEMPERATURE_MAX) : temperature;

function refuseImpossible(body: JsonObject): void {
  const refuse = (param: string, sentence: string): never => {
    throw new UntranslatableRequest(param, sentence);
  };
  if (!isAbsent(body['n']) && body['n'] !== 1) refuse('n', "This model gives one choice: 'n' must be 1");
  if (body['logprobs'] === true) refuse('logprobs', 'This model tells no log probabilities');
  if (!isAbsent(body['functions'])) refuse('functions', "Use 'tools' instead of 'functions' with this model");
  if (!isAbsent(body['audio'])) refuse('audio', 'This model answers in text alone');
  if (!isAbsent(body['web_search_options']))
    refuse('web_search_options', 'This model cannot search the web through this interface');
}

const EFFORTS: readonly Json[] = ['low', 'medium', 'high', 'xhigh'];

function toOutputConfig(body: JsonObject): JsonObject | undefined {
  const format = toOutputFormat(body['response_format']);
  const effort = body['reasoning_effort'] ?? null;
  const config = { ...(format !== undefined && { format }), ...(EFFORTS.includes(effort) && { effort }) };
  return Object.keys(config).length === 0 ? undefined : config;
}

function toOutputFormat(format: Json | undefined): JsonObject | undefined {
  if (isAbsent(format)) return undefined;
  const { type, json_schema: named } = requireObject(format, 'response_format');
  if (type === 'text') return undefined;
  if (type !== 'json_schema')
    throw new UntranslatableRequest(
      'response_format',
      "This model takes 'response_format' of the types text and json_schema",
    );
  const schema = isObject(named) ? named['schema'] : undefined;
  return { type: 'json_schema', schema: requireObject(schema, 'response_format.json_schema.schema') };
}
