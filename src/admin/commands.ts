// The commands: operations of the interface, where what an option may hold is the operation's to say, and work on
// search that only the command line offers.

/** Where in an operation's request a value goes. */
export type Place = readonly ['path' | 'body', ...string[]];

export type Option = {
  place: Place;
  /** How the help names the value; absent: a flag. */
  value?: string;
  meaning: string;
  /** The text of the command line as the operation takes it. */
  read?(text: string, now: Date): unknown;
  /** What a flag stands for. */
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
  ids: {
    place: ['body', 'ids'],
    value: 'id,id',
    meaning: 'dead letters, by their ids (default: all)',
    read: (text) => text.split(',').map((id) => id.trim()),
  },
  repair: { place: ['body', 'repair'], stands: true, meaning: 'make anew what differs' },
} as const satisfies Record<string, Option>;

export type OptionName = keyof typeof OPTIONS;

export type Command = {
  /** What is typed, e.g. `keys create`. */
  words: string;
  /** The operation's name, or that of the work on search. */
  operation: string;
  meaning: string;
  /** The one argument without a name. */
  argument?: { place: Place; value: string };
  /** The option whose value is the name when none is given. */
  defaultName?: OptionName;
  required: readonly OptionName[];
  optional: readonly OptionName[];
};

const LIMITS = ['requests-per-minute', 'tokens-per-minute', 'budget-per-month'] as const;
const USER = { place: ['path', 'user_id'], value: 'user id' } as const;
const KEY = { place: ['path', 'key_id'], value: 'key id' } as const;
const WORKSPACE = ['workspace'] as const;

export const COMMANDS: readonly Command[] = [
  {
    words: 'workspaces list',
    operation: 'access.list-workspaces',
    meaning: 'list workspaces, newest first',
    required: [],
    optional: [],
  },
  {
    words: 'workspaces create',
    operation: 'access.create-workspace',
    meaning: 'create a workspace',
    argument: { place: ['body', 'id'], value: 'name' },
    required: [],
    optional: ['name'],
  },
  {
    words: 'users list',
    operation: 'access.list-users',
    meaning: 'list the people of a workspace, newest first',
    required: WORKSPACE,
    optional: [],
  },
  {
    words: 'users create',
    operation: 'access.create-user',
    meaning: 'add a person',
    required: ['workspace', 'email'],
    optional: ['name'],
  },
  {
    words: 'users update',
    operation: 'access.update-user',
    meaning: "change a person's e-mail or name",
    argument: USER,
    required: WORKSPACE,
    optional: ['email', 'name'],
  },
  {
    words: 'users delete',
    operation: 'access.delete-user',
    meaning: 'delete a person and revoke their keys',
    argument: USER,
    required: WORKSPACE,
    optional: [],
  },
  {
    words: 'keys list',
    operation: 'access.list-keys',
    meaning: 'list the keys that are not revoked, newest first',
    required: WORKSPACE,
    optional: [],
  },
  {
    words: 'keys create',
    operation: 'access.create-key',
    meaning: 'create a key and print it, this once (by default named like its scopes, for ever)',
    defaultName: 'scopes',
    required: ['workspace', 'scopes'],
    optional: ['name', 'user', 'expires', ...LIMITS],
  },
  {
    words: 'keys update',
    operation: 'access.update-key',
    meaning: 'rename, disable or enable a key',
    argument: KEY,
    required: WORKSPACE,
    optional: ['name', 'disable', 'enable'],
  },
  {
    words: 'keys rotate',
    operation: 'access.rotate-key',
    meaning: 'replace a key by a new one and print it, this once (by default with the same expiry)',
    argument: KEY,
    required: WORKSPACE,
    optional: ['grace-seconds', 'expires'],
  },
  {
    words: 'keys revoke',
    operation: 'access.revoke-key',
    meaning: 'revoke a key',
    argument: KEY,
    required: WORKSPACE,
    optional: [],
  },
  {
    words: 'dead-letters list',
    operation: 'metrics.list-dead-letters',
    meaning: 'list usage events that were accepted and that the database refused, newest first',
    required: WORKSPACE,
    optional: [],
  },
  {
    words: 'dead-letters replay',
    operation: 'metrics.replay-dead-letters',
    meaning: 'send the oldest 1,000 to the database again, or the ones named',
    required: WORKSPACE,
    optional: ['ids'],
  },
  {
    words: 'dead-letters purge',
    operation: 'metrics.purge-dead-letters',
    meaning: 'delete all of them for good, or the ones named',
    required: WORKSPACE,
    optional: ['ids'],
  },
  {
    words: 'search reindex',
    operation: 'search.reindex',
    meaning: 'make the search index anew from the documents; searches go on meanwhile',
    required: [],
    optional: [],
  },
  {
    words: 'search verify',
    operation: 'search.verify',
    meaning: 'compare the search index with the documents; ends with 1 when they differ',
    required: [],
    optional: ['repair'],
  },
];

const HOURS = { h: 1, d: 24 } as const;

/** A span from now as the date it ends; anything else as it is, for the operation to judge. */
function readExpiry(text: string, now: Date): string {
  const [, count, unit] = /^(\d{1,6})([dh])$/.exec(text) ?? [];
  if (count === undefined) return text;
  const hours = Number(count) * HOURS[unit === 'h' ? 'h' : 'd'];
  return new Date(now.getTime() + hours * 3_600_000).toISOString();
}
