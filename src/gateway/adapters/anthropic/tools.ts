// Tools, and which of them the model may call.

import { isObject, type JsonObject } from '../../../core/json.ts';
import { UntranslatableRequest } from '../adapter.ts';
import { isAbsent, requireList, requireObject, requireText } from './shapes.ts';

/** Undefined where there are none. Throws UntranslatableRequest, naming the field. */
export function toTools(tools: unknown): JsonObject[] | undefined {
  if (isAbsent(tools)) return undefined;
  const list = requireList(tools, 'tools').map((tool, index) => toTool(tool, `tools[${index}]`));
  return list.length === 0 ? undefined : list;
}

function toTool(tool: unknown, param: string): JsonObject {
  const { type, function: described, cache_control } = requireObject(tool, param);
  if (type !== 'function')
    throw new UntranslatableRequest(`${param}.type`, 'This model takes tools of the type function alone');
  const { name, description, parameters, strict } = requireObject(described, `${param}.function`);
  return {
    name: requireText(name, `${param}.function.name`),
    ...(!isAbsent(description) && { description }),
    input_schema: isAbsent(parameters)
      ? { type: 'object', properties: {} }
      : requireObject(parameters, `${param}.function.parameters`),
    ...(strict === true && { strict }),
    ...(!isAbsent(cache_control) && { cache_control }),
  };
}

/** Undefined where Anthropic's default is meant. Throws UntranslatableRequest, naming the field. */
export function toToolChoice(body: JsonObject, hasTools: boolean): JsonObject | undefined {
  if (!hasTools) return undefined;
  const choice = readChoice(body['tool_choice']);
  if (body['parallel_tool_calls'] !== false || choice?.['type'] === 'none') return choice;
  return { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

const CHOICES: Record<string, JsonObject> = {
  auto: { type: 'auto' },
  none: { type: 'none' },
  required: { type: 'any' },
};

function readChoice(choice: unknown): JsonObject | undefined {
  if (isAbsent(choice)) return undefined;
  const known = typeof choice === 'string' && Object.hasOwn(CHOICES, choice) ? CHOICES[choice] : undefined;
  if (known !== undefined) return known;
  if (isObject(choice) && choice['type'] === 'function' && isObject(choice['function']))
    return { type: 'tool', name: requireText(choice['function']['name'], 'tool_choice.function.name') };
  throw new UntranslatableRequest(
    'tool_choice',
    "This model takes a 'tool_choice' of auto, none, required or one function",
  );
}
