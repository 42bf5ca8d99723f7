// The types of the interface's table ("Events") and the fields of their data. Other types have no rules.

import type { ValidationEntry } from '../core/errors.ts';
import { isRawNumber } from '../core/json.ts';
import { missing } from '../http/mistakes.ts';

type FieldKind = 'string' | 'integer' | 'boolean';
type Fields = Readonly<Record<string, FieldKind>>;

const IN_USER: Fields = { value: 'integer', provider: 'string' };
const IN_CHAT: Fields = { value: 'string', chat_session_id: 'integer' };
const IN_MESSAGE: Fields = { value: 'string', message_id: 'integer' };
const IN_MESSAGE_OF_CHAT: Fields = { ...IN_MESSAGE, chat_session_id: 'integer' };

/** Every field is required; further fields are allowed. */
const FIELDS: ReadonlyMap<string, Fields> = new Map<string, Fields>([
  ['auth.user.login', IN_USER],
  ['auth.user.logout', IN_USER],
  ['auth.user.create', IN_USER],
  ['auth.user.delete', IN_USER],
  ['auth.user.update', IN_USER],
  ['chat.create', { ...IN_CHAT, persona_id: 'integer' }],
  ['chat.delete', IN_CHAT],
  ['chat.rename', IN_CHAT],
  ['messages.user.new', IN_MESSAGE_OF_CHAT],
  ['messages.user.feedback', { ...IN_MESSAGE, is_positive: 'boolean', feedback_text: 'string' }],
  ['messages.user.delete', IN_MESSAGE],
  ['messages.user.update', { value: 'string', old_message_id: 'integer', new_message_id: 'integer' }],
  ['messages.rag.persona.new', IN_MESSAGE_OF_CHAT],
  ['messages.rag.agent.new', IN_MESSAGE_OF_CHAT],
  ['messages.rag.bot.new', IN_MESSAGE_OF_CHAT],
  ['messages.agent.new', { ...IN_MESSAGE_OF_CHAT, agent_id: 'string' }],
]);

const FIELD_LISTS = new Map([...FIELDS].map(([type, fields]) => [type, Object.entries(fields)]));

export const INTERFACE_TYPES: readonly string[] = [...FIELDS.keys()];

/** The violations of the interface's table in an event's data; none for types that are not in it. */
export function findFieldMistakes(type: string, data: object, loc: (string | number)[]): ValidationEntry[] {
  const mistakes: ValidationEntry[] = [];
  for (const [name, kind] of FIELD_LISTS.get(type) ?? []) {
    const input: unknown = Object.hasOwn(data, name) ? (data as Record<string, unknown>)[name] : undefined;
    if (input === undefined) {
      mistakes.push(missing([...loc, name], null));
    } else if (!isOfKind(input, kind)) {
      const msg = `Input should be a valid ${kind}`;
      mistakes.push({ type: CODES[kind], loc: [...loc, name], msg, input });
    }
  }
  return mistakes;
}

const isOfKind = (input: unknown, kind: FieldKind): boolean =>
  kind === 'integer'
    ? Number.isInteger(input) || (isRawNumber(input) && /^-?\d+$/.test(input.rawJSON))
    : typeof input === kind;

const CODES = { string: 'string_type', integer: 'int_type', boolean: 'bool_type' } as const;
