// The conversation: system messages apart, tools' results within the user's turn, images and documents as sources.

import { isObject, type JsonObject, parseJson } from '../../../core/json.ts';
import { UntranslatableRequest } from '../adapter.ts';
import { isAbsent, requireList, requireObject, requireText } from './shapes.ts';

type Turn = { role: 'user' | 'assistant'; content: JsonObject[] };

/** Throws UntranslatableRequest, naming the message. */
export function toMessages(value: unknown): { system: JsonObject[]; messages: Turn[] } {
  const system: JsonObject[] = [];
  const messages: Turn[] = [];
  for (const [index, each] of requireList(value, 'messages').entries()) {
    const param = `messages[${index}]`;
    const message = requireObject(each, param);
    const { role } = message;
    if (role === 'system' || role === 'developer') {
      system.push(...toTextBlocks(message['content'], `${param}.content`));
      continue;
    }
    const turn = toTurn(message, param);
    const last = messages.at(-1);
    // All results of one turn's tools must stand in one message; equal roles in a row are one turn anyway.
    if (last?.role === turn.role) last.content.push(...turn.content);
    else if (turn.content.length > 0) messages.push(turn);
  }
  return { system, messages };
}

function toTurn(message: JsonObject, param: string): Turn {
  const { role, content } = message;
  if (role === 'user') return { role, content: toUserBlocks(content, `${param}.content`) };
  if (role === 'assistant') return { role, content: toAssistantBlocks(message, param) };
  if (role === 'tool') return { role: 'user', content: [toToolResult(message, param)] };
  throw new UntranslatableRequest(
    `${param}.role`,
    'This model takes the roles system, developer, user, assistant and tool',
  );
}

/** Anthropic refuses texts that are empty. */
const textBlocks = (text: string, rest: JsonObject = {}): JsonObject[] =>
  text === '' ? [] : [{ type: 'text', text, ...rest }];

const cacheControlOf = ({ cache_control }: JsonObject): JsonObject =>
  isAbsent(cache_control) ? {} : { cache_control };

function toTextBlocks(content: unknown, param: string): JsonObject[] {
  if (isAbsent(content)) return [];
  if (typeof content === 'string') return textBlocks(content);
  return requireList(content, param).flatMap((each, index) => {
    const part = requireObject(each, `${param}[${index}]`);
    const said = part['type'] === 'refusal' ? part['refusal'] : part['text'];
    return textBlocks(requireText(said, `${param}[${index}].text`), cacheControlOf(part));
  });
}

function toUserBlocks(content: unknown, param: string): JsonObject[] {
  if (typeof content === 'string') return textBlocks(content);
  return requireList(content, param).flatMap((each, index) => {
    const part = requireObject(each, `${param}[${index}]`);
    return toUserBlock(part, `${param}[${index}]`);
  });
}

function toUserBlock(part: JsonObject, param: string): JsonObject[] {
  const { type } = part;
  if (type === 'text') return textBlocks(requireText(part['text'], `${param}.text`), cacheControlOf(part));
  if (type === 'image_url') {
    const { url } = requireObject(part['image_url'], `${param}.image_url`);
    const source = toSource(requireText(url, `${param}.image_url.url`), `${param}.image_url.url`);
    return [{ type: 'image', source, ...cacheControlOf(part) }];
  }
  if (type === 'file') {
    const { file_data: data, filename } = requireObject(part['file'], `${param}.file`);
    const source = toSource(requireText(data, `${param}.file.file_data`), `${param}.file.file_data`);
    const title = typeof filename === 'string' ? { title: filename } : {};
    return [{ type: 'document', source, ...title, ...cacheControlOf(part) }];
  }
  throw new UntranslatableRequest(`${param}.type`, 'This model takes parts of text, image_url and file');
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[^;,]*)*;base64,/i;

function toSource(url: string, param: string): JsonObject {
  if (/^https?:\/\//i.test(url)) return { type: 'url', url };
  const [head, mediaType] = DATA_URL.exec(url.slice(0, 256)) ?? [];
  if (head === undefined || mediaType === undefined)
    throw new UntranslatableRequest(param, `'${param}' must be an http(s) URL or a data URL in base64`);
  return { type: 'base64', media_type: mediaType.toLowerCase(), data: url.slice(head.length) };
}

function toAssistantBlocks(message: JsonObject, param: string): JsonObject[] {
  const said = toTextBlocks(message['content'], `${param}.content`);
  const refused = typeof message['refusal'] === 'string' ? textBlocks(message['refusal']) : [];
  const calls = isAbsent(message['tool_calls'])
    ? []
    : requireList(message['tool_calls'], `${param}.tool_calls`);
  return [
    ...said,
    ...(said.length === 0 ? refused : []),
    ...calls.map((call, index) => toToolUse(call, `${param}.tool_calls[${index}]`)),
  ];
}

function toToolUse(value: unknown, param: string): JsonObject {
  const call = requireObject(value, param);
  const { name, arguments: text } = requireObject(call['function'], `${param}.function`);
  return {
    type: 'tool_use',
    id: requireText(call['id'], `${param}.id`),
    name: requireText(name, `${param}.function.name`),
    input: toInput(requireText(text, `${param}.function.arguments`), `${param}.function.arguments`),
  };
}

/** Some clients write no arguments as an empty text. */
function toInput(text: string, param: string): JsonObject {
  if (text.trim() === '') return {};
  let input: unknown;
  try {
    input = parseJson(text);
  } catch {
    input = undefined;
  }
  if (isObject(input)) return input;
  throw new UntranslatableRequest(param, `'${param}' must be a JSON object in text`);
}

function toToolResult(message: JsonObject, param: string): JsonObject {
  const content = toTextBlocks(message['content'], `${param}.content`);
  return {
    type: 'tool_result',
    tool_use_id: requireText(message['tool_call_id'], `${param}.tool_call_id`),
    ...(content.length > 0 && { content }),
  };
}
