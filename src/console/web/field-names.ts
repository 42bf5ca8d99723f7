import type { MessageName } from './messages.ts';
import { isMessage, t } from './text.ts';

/** The fields of the interface's bodies, by the labels that they have in the forms. */
const LABELS: Record<string, MessageName> = {
  agent_id: 'agents.id',
  audience: 'bots.audience',
  bot_id: 'bots.id',
  budget_per_month: 'keys.budget',
  categories: 'library.categories',
  curators: 'library.curators',
  email: 'people.email',
  expires_at: 'keys.expires',
  folder: 'library.folder',
  grace_seconds: 'keys.grace',
  id: 'workspaces.id',
  instructions: 'playground.system',
  key: 'sign-in.key',
  kind: 'agents.kind',
  language: 'content.give.language',
  message: 'playground.message',
  model: 'playground.model',
  name: 'keys.name',
  not_found_text: 'agents.not-found-text',
  query: 'knowledge.question',
  replies: 'agents.replies',
  requests_per_minute: 'keys.requests',
  scopes: 'keys.scopes',
  subject: 'usage.by.subject',
  summary: 'library.summary',
  tags: 'library.tags',
  temperature: 'playground.temperature',
  text: 'content.give.text',
  tokens_per_minute: 'keys.tokens',
  user_email: 'keys.person',
  welcome_text: 'bots.welcome',
};

/** An entry of a 422. */
export type Mistake = {
  type: string;
  loc: readonly (string | number)[];
  msg: string;
  ctx?: Record<string, string | number>;
};

/** The field of the form: an item of a list stands in its list, and a part of a limit under its own name. */
export const fieldOf = ({ loc }: Mistake): string => {
  const names = loc.filter((part) => typeof part === 'string');
  const inner = names.at(-1) ?? '';
  // A reply's two halves stand in one field.
  return names.includes('replies') ? 'replies' : inner;
};

/** The field as a person knows it; one that no form shows has its name, in words. */
export function labelOf(field: string): string {
  const label = LABELS[field];
  return label === undefined ? field.replaceAll('_', ' ') : t(label);
}

/** What is wrong with the value: in the reader's language where the kind of the mistake is known, else as the service says it. */
export function sentenceOf({ type, msg, ctx }: Mistake): string {
  const name = `mistake.${type}`;
  return isMessage(name) ? t(name, ctx) : msg.replace(/^Value error, /, '');
}
