// The answer of `local-echo` to a conversation: the text itself, JSON if that is requested, or a tool call. Of numbered documents that
// it is shown before a question, as agents with knowledge of documents show them, it quotes the sentences that have the question's
// words, each with its document's number, so that citing can be seen to work.

import { createExcerpts, termsOf } from '../../core/excerpt.ts';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { ECHO_DOCUMENT_UNITS_MAX, ECHO_DOCUMENTS_MAX, ECHO_QUOTE_UNITS_MAX } from '../limits.ts';
import { given, invalid, unsupported } from './options.ts';
import { NoSample, sampleOf } from './sample.ts';
import { firstTokens } from './tokens.ts';
import { CHAT_WIRE, type Said, toolCallWire, type Wire } from './wire.ts';

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

/** The prompt of the chat area names the block by a digest and escapes what stands in it. */
const BLOCK = /^<(documents-[0-9a-f]{32})>\n[\s\S]*<\/\1>$/;
const DOCUMENT = /<document number="(\d{1,3})"[^>]*>\n([^<]*)\n<\/document>/g;

/** A document is not quoted if it has fewer of the question's words than this share of those in the best document. */
const SHARE_OF_BEST_MIN = 0.5;

/** The question, and behind it a paragraph for each of the documents in the block that deals with it. */
export function withQuotes(question: string, block: string): string {
  if (!BLOCK.test(block)) return question;
  const terms = termsOf(question.slice(0, ECHO_DOCUMENT_UNITS_MAX));
  const quotes = [...block.matchAll(DOCUMENT)].slice(0, ECHO_DOCUMENTS_MAX).map(([, number, text = '']) => {
    const excerptOf = createExcerpts(toText(text).slice(0, ECHO_DOCUMENT_UNITS_MAX), ECHO_QUOTE_UNITS_MAX);
    return { number, ...excerptOf(terms) };
  });
  const best = Math.max(0, ...quotes.map(({ share }) => share));
  const quoted = quotes.filter(({ share }) => share > 0 && share >= best * SHARE_OF_BEST_MIN);
  return [question, ...quoted.map(({ number, text }) => `${text} [${number}]`)].join('\n\n');
}

const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&' };

/** A bracketed number in a document must not be read as a citation. */
const toText = (escaped: string): string =>
  escaped
    .replaceAll(/&#\d+;\s*(\^?\d[^\]】］\n]{0,40})[\]】］]/gu, '($1)')
    .replaceAll(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? entity);
