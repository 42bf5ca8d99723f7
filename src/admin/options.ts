// The options of commands: the place of each in an operation's request, and the parsing of its text.

import { parseJson } from '../core/json.ts';

/** The place of a value in an operation's request. */
export type Place = readonly ['path' | 'query' | 'body', ...string[]];

export type Option = {
  place: Place;
  /** The name of the value in the help; absent: a flag. */
  value?: string;
  meaning: string;
  /** Converts the text of the command line into the value of the operation. */
  read?(text: string, now: Date): unknown;
  /** The value of a flag. */
  stands?: boolean;
};

export const OPTIONS = {
  workspace: { place: ['path', 'workspace_id'], value: 'name', meaning: 'the workspace (required)' },
  name: { place: ['body', 'name'], value: 'text', meaning: 'name that people recognise it by' },
  email: { place: ['body', 'email'], value: 'e-mail', meaning: "the person's e-mail" },
  scopes: {
    place: ['body', 'scopes'],
    value: 'a,b',
    meaning: 'what the key is good for, e.g. documents:read,metrics',
    read: (text) => text.split(',').map((scope) => scope.trim()),
  },
  user: {
    place: ['body', 'user_email'],
    value: 'e-mail',
    meaning: "the person the key acts for, added if need be (default: the workspace's administrator)",
  },
  expires: {
    place: ['body', 'expires_at'],
    value: 'when',
    meaning: 'a date, with or without time, or a span such as 90d or 12h',
    read: readExpiry,
  },
  'requests-per-minute': { place: ['body', 'limits', 'requests_per_minute'], value: 'n', meaning: 'ceiling' },
  'tokens-per-minute': { place: ['body', 'limits', 'tokens_per_minute'], value: 'n', meaning: 'ceiling' },
  'budget-per-month': { place: ['body', 'limits', 'budget_per_month'], value: 'amount', meaning: 'ceiling' },
  'grace-seconds': {
    place: ['body', 'grace_seconds'],
    value: 'n',
    meaning: 'time for which the old key stays valid (default: 0)',
  },
  disable: { place: ['body', 'disabled'], stands: true, meaning: 'refuse the key until it is enabled' },
  enable: { place: ['body', 'disabled'], stands: false, meaning: 'accept the key again' },
  kind: { place: ['body', 'kind'], value: 'kind', meaning: 'persona, agent or bot' },
  model: { place: ['body', 'model'], value: 'name', meaning: "of the catalogue (default: the catalogue's)" },
  instructions: {
    place: ['body', 'instructions'],
    value: 'text',
    meaning: 'the system message of the model',
  },
  temperature: { place: ['body', 'temperature'], value: 'n', meaning: '0 to 2' },
  'history-messages': { place: ['body', 'history_messages'], value: 'n', meaning: 'messages it is shown' },
  'history-tokens': { place: ['body', 'history_tokens'], value: 'n', meaning: 'tokens of these together' },
  knowledge: { place: ['body', 'knowledge'], value: 'what', meaning: 'none or documents' },
  replies: {
    place: ['body', 'replies'],
    value: 'json',
    meaning: 'of a bot: [{"match": "…", "reply": "…"}]',
    read: readJson,
  },
  default: { place: ['body', 'default'], stands: true, meaning: "make it the workspace's default" },
  ids: {
    place: ['body', 'ids'],
    value: 'id,id',
    meaning: 'dead letters, by their ids (default: all)',
    read: (text) => text.split(',').map((id) => id.trim()),
  },
  mode: {
    place: ['body', 'verification', 'mode'],
    value: 'mode',
    meaning: 'how events are verified: project_number, endpoint_url or key',
  },
  audience: {
    place: ['body', 'verification', 'audience'],
    value: 'text',
    meaning: "the project's number, or the webhook's URL",
  },
  jwks: {
    place: ['body', 'verification', 'jwks'],
    value: 'URL or JSON',
    meaning: "the keys that sign events (default: the platform's)",
    read: readJson,
  },
  'service-account': {
    place: ['body', 'verification', 'service_account_email'],
    value: 'e-mail',
    meaning: 'of a bot that is an add-on: the account that sends its events',
  },
  agent: {
    place: ['body', 'agent_id'],
    value: 'id',
    meaning: "the agent that answers (default: the workspace's)",
  },
  welcome: { place: ['body', 'welcome_text'], value: 'text', meaning: 'said when the bot is added' },
  commands: {
    place: ['body', 'commands'],
    value: 'JSON',
    meaning: 'slash commands: [{"id", "name", "reply" or "agent_id"}]',
    read: readJson,
  },
  by: {
    place: ['query', 'group_by'],
    value: 'what',
    meaning: 'model, target, key, endpoint, outcome, hour or day (default: model)',
  },
  from: {
    place: ['query', 'from'],
    value: 'time',
    meaning: 'start, a date with or without time (default: 30 days ago)',
  },
  to: { place: ['query', 'to'], value: 'time', meaning: 'end, a date with or without time (default: now)' },
  action: { place: ['query', 'action'], value: 'name', meaning: 'the action, such as access.create-key' },
  actor: {
    place: ['query', 'actor'],
    value: 'who',
    meaning: 'the e-mail of a person, the id of a key, command-line or service',
  },
  object: {
    place: ['query', 'object'],
    value: 'kind[:id]',
    meaning: 'what was changed, such as user or agent:helper',
  },
  since: { place: ['query', 'since'], value: 'time', meaning: 'the earliest time' },
  until: { place: ['query', 'until'], value: 'time', meaning: 'the time after the latest' },
  limit: { place: ['query', 'limit'], value: 'n', meaning: 'rows, 100 at most' },
  cursor: { place: ['query', 'cursor'], value: 'text', meaning: 'where the page before ended' },
  repair: { place: ['body', 'repair'], stands: true, meaning: 'make anew what differs' },
} as const satisfies Record<string, Option>;

export type OptionName = keyof typeof OPTIONS;

/** The value of a JSON text; any other text unchanged, because the operation validates it. */
function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

const HOURS = { h: 1, d: 24 } as const;

/** The end of a span from now; any other text unchanged, because the operation validates it. */
function readExpiry(text: string, now: Date): string {
  const [, count, unit] = /^(\d{1,6})([dh])$/.exec(text) ?? [];
  if (count === undefined) return text;
  const hours = Number(count) * HOURS[unit === 'h' ? 'h' : 'd'];
  return new Date(now.getTime() + hours * 3_600_000).toISOString();
}
