// The answer of `local-echo` to a conversation: the text itself, JSON if that is requested, or a tool call.

import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { firstTokens, type Said } from './echo.ts';
import { given, invalid, unsupported } from './options.ts';
import { NoSample, sampleOf } from './sample.ts';
import { CHAT_WIRE, toolCallWire, type Wire } from './wire.ts';

/** A part of the input, if a schema requires a text. */
const SAMPLE_TEXT_TOKENS = 256;

type Saying = {
  wire: Wire;
  text: string;
  /** Whether stop sequences end it. */
  stoppable: boolean;
  /** Where it comes to its end. */
  finishReason: Said['finishReason'];
};

/** Throws 400 for a format or a tool that it has no answer in. */
export function readSaying(body: JsonObject, told: string): Saying {
  const tool = readForcedTool(body);
  if (tool !== undefined) {
    const { name, schema, param } = tool;
    const text = JSON.stringify(sample(schema ?? { type: 'object' }, { told, param }));
    return { wire: toolCallWire(name), text, stoppable: false, finishReason: 'tool_calls' };
  }
  return { wire: CHAT_WIRE, text: readFormatted(body, told), stoppable: true, finishReason: 'stop' };
}

function readFormatted(body: JsonObject, told: string): string {
  const format = given(body['response_format']);
  if (format === undefined) return `Echo: ${told}`;
  const type = isObject(format) ? format['type'] : undefined;
  if (type === 'text') return `Echo: ${told}`;
  if (type === 'json_object') return JSON.stringify({ echo: told });
  if (type !== 'json_schema' || !isObject(format))
    throw invalid("'response_format.type' must be text, json_object or json_schema", 'response_format');
  const schema = isObject(format['json_schema']) ? given(format['json_schema']['schema']) : undefined;
  if (schema === undefined)
    throw invalid("'response_format.json_schema' must hold a schema", 'response_format.json_schema');
  return JSON.stringify(sample(schema, { told, param: 'response_format.json_schema.schema' }));
}

function sample(schema: Json, { told, param }: { told: string; param: string }): Json {
  try {
    return sampleOf(schema, firstTokens(told, SAMPLE_TEXT_TOKENS).text);
  } catch (error) {
    if (!(error instanceof NoSample)) throw error;
    throw unsupported(`local-echo can make no value for '${param}': the schema ${error.message}`, param);
  }
}

/** As OpenAI's API has it; each choice of the answer names it. */
const FUNCTION_NAME = /^[\w-]{1,64}$/;

type Tool = { name: string; schema: Json | undefined; param: string };

/** The tool that has to be called; undefined where none has to be: then the answer is a text. */
function readForcedTool(body: JsonObject): Tool | undefined {
  const choice = given(body['tool_choice']);
  if (choice === undefined || choice === 'none' || choice === 'auto') return undefined;
  const tools = readTools(body);
  if (choice === 'required') {
    const [first] = tools;
    if (first === undefined)
      throw invalid("'tool_choice' requires a tool, and 'tools' has none", 'tool_choice');
    return first;
  }
  const called = isObject(choice) && choice['type'] === 'function' ? choice['function'] : undefined;
  if (!isObject(called))
    throw invalid(
      "'tool_choice' must be none, auto, required or an object that names a function",
      'tool_choice',
    );
  const named = tools.find(({ name }) => name === called['name']);
  if (named === undefined)
    throw invalid("'tool_choice' names a function that 'tools' does not hold", 'tool_choice');
  return named;
}

function readTools(body: JsonObject): Tool[] {
  const tools = given(body['tools']) ?? [];
  if (!Array.isArray(tools)) throw invalid("'tools' must be a list", 'tools');
  return tools.map((tool, index) => {
    const about = isObject(tool) && tool['type'] === 'function' ? tool['function'] : undefined;
    const name = isObject(about) ? about['name'] : undefined;
    if (!isObject(about) || typeof name !== 'string' || !FUNCTION_NAME.test(name)) {
      const sentence = `'tools[${index}]' must be a function with a name of 1 to 64 letters, digits, _ and -`;
      throw invalid(sentence, `tools[${index}]`);
    }
    return { name, schema: given(about['parameters']), param: `tools[${index}].function.parameters` };
  });
}
