// The options of commands: the place of each in an operation's request, and the parsing of its text.

import { parseJson } from '../core/json.ts';

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

/** `place` by its names; `value`: its name in the help, or the value of a flag. */
const option = (
  place: `${Place[0]}.${string}`,
  value: string | boolean,
  meaning: string,
  read?: Option['read'],
): Option => ({
  place: place.split('.') as unknown as Place,
  meaning,
  ...(typeof value === 'string' ? { value } : { stands: value }),
  ...(read === undefined ? {} : { read }),
});
const readList = (text: string): string[] => text.split(',').map((item) => item.trim());

export const OPTIONS = {
  workspace: option('path.workspace_id', 'name', 'the workspace (required)'),
  name: option('body.name', 'text', 'name that people recognise it by'),
  email: option('body.email', 'e-mail', "the person's e-mail"),
  scopes: option('body.scopes', 'a,b', 'what the key is good for, e.g. documents:read,metrics', readList),
  user: option(
    'body.user_email',
    'e-mail',
    "the person the key acts for, added if need be (default: the workspace's administrator)",
  ),
  expires: option(
    'body.expires_at',
    'when',
    'a date, with or without time, or a span such as 90d or 12h',
    readExpiry,
  ),
  'requests-per-minute': option('body.limits.requests_per_minute', 'n', 'ceiling'),
  'tokens-per-minute': option('body.limits.tokens_per_minute', 'n', 'ceiling'),
  'budget-per-month': option('body.limits.budget_per_month', 'amount', 'ceiling'),
  'grace-seconds': option('body.grace_seconds', 'n', 'time for which the old key stays valid (default: 0)'),
  disable: option('body.disabled', true, 'refuse the key until it is enabled'),
  enable: option('body.disabled', false, 'accept the key again'),
  kind: option('body.kind', 'kind', 'persona, agent or bot'),
  model: option('body.model', 'name', "of the catalogue (default: the catalogue's)"),
  instructions: option('body.instructions', 'text', 'the system message of the model'),
  temperature: option('body.temperature', 'n', '0 to 2'),
  'history-messages': option('body.history_messages', 'n', 'messages it is shown'),
  'history-tokens': option('body.history_tokens', 'n', 'tokens of these together'),
  knowledge: option('body.knowledge', 'what', 'none or documents'),
  'knowledge-only': option('body.knowledge_only', true, 'answer from documents alone'),
  'not-found-text': option('body.not_found_text', 'text', 'its answer where no document is found then'),
  replies: option('body.replies', 'json', 'of a bot: [{"match": "…", "reply": "…"}]', readJson),
  default: option('body.default', true, "make it the workspace's default"),
  ids: option('body.ids', 'id,id', 'dead letters, by their ids (default: all)', readList),
  mode: option(
    'body.verification.mode',
    'mode',
    'how events are verified: project_number, endpoint_url or key',
  ),
  audience: option('body.verification.audience', 'text', "the project's number, or the webhook's URL"),
  jwks: option(
    'body.verification.jwks',
    'URL or JSON',
    "the keys that sign events (default: the platform's)",
    readJson,
  ),
  'service-account': option(
    'body.verification.service_account_email',
    'e-mail',
    'of a bot that is an add-on: the account that sends its events',
  ),
  agent: option('body.agent_id', 'id', "the agent that answers (default: the workspace's)"),
  welcome: option('body.welcome_text', 'text', 'said when the bot is added'),
  commands: option(
    'body.commands',
    'JSON',
    'slash commands: [{"id", "name", "reply" or "agent_id"}]',
    readJson,
  ),
  by: option('query.group_by', 'what', 'model, target, key, endpoint, outcome, hour or day (default: model)'),
  from: option('query.from', 'time', 'start, a date with or without time (default: 30 days ago)'),
  to: option('query.to', 'time', 'end, a date with or without time (default: now)'),
  action: option('query.action', 'name', 'the action, such as access.create-key'),
  actor: option('query.actor', 'who', 'the e-mail of a person, the id of a key, command-line or service'),
  object: option('query.object', 'kind[:id]', 'what was changed, such as user or agent:helper'),
  since: option('query.since', 'time', 'the earliest time'),
  until: option('query.until', 'time', 'the time after the latest'),
  limit: option('query.limit', 'n', 'rows, 100 at most'),
  cursor: option('query.cursor', 'text', 'where the page before ended'),
  target: option('body.target', 'file', 'the settings of the service after the move, a line NAME=value each'),
  repair: option('body.repair', true, 'make anew what differs'),
} satisfies Record<string, Option>;

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
