// The commands: operations of the interface, which validate the values of the options themselves, and maintenance of search,
// the bucket and the embedded store, and backups, which only the command line offers.

import { WORKSPACE_NAME_FORM } from '../access/index.ts';
import type { OptionName, Place } from './options.ts';

export type Command = {
  /** The words of the command, such as `keys create`. */
  words: string;
  operation: string;
  meaning: string;
  /** The positional argument; `form`: a description of its form. */
  argument?: { place: Place; value: string; form?: string };
  /** The option whose value is the default of `name`. */
  defaultName?: OptionName;
  required: readonly OptionName[];
  optional: readonly OptionName[];
  /** Of maintenance: the actions that it writes to the audit log; those of an operation stand with that. */
  audits?: readonly string[];
};

/** Most commands are about a workspace, and need nothing else. */
type Stated = Omit<Command, 'words' | 'required' | 'optional'> &
  Partial<Pick<Command, 'required' | 'optional'>>;

const LIMITS = ['requests-per-minute', 'tokens-per-minute', 'budget-per-month'] as const;
const AUDIT_FILTERS = ['action', 'actor', 'object', 'since', 'until', 'limit', 'cursor'] as const;
const USER = { place: ['path', 'user_id'], value: 'user id' } as const;
const KEY = { place: ['path', 'key_id'], value: 'key id' } as const;
const BOT = { place: ['path', 'bot_id'], value: 'bot id' } as const;
const FOLDER = { place: ['body', 'folder'], value: 'folder' } as const;
const AGENT = { place: ['path', 'agent_id'], value: 'agent id' } as const;

const READING = { place: ['body', 'reading'], value: 'on|off' } as const;

const STATED: Readonly<Record<string, Stated>> = {
  'workspaces list': {
    operation: 'access.list-workspaces',
    meaning: 'list workspaces, newest first',
    required: [],
  },
  'workspaces create': {
    operation: 'access.create-workspace',
    meaning: 'create a workspace',
    argument: { place: ['body', 'id'], value: 'name', form: WORKSPACE_NAME_FORM },
    required: [],
    optional: ['name'],
  },
  'users list': { operation: 'access.list-users', meaning: 'list the people of a workspace, newest first' },
  'users create': {
    operation: 'access.create-user',
    meaning: 'add a person',
    required: ['workspace', 'email'],
    optional: ['name'],
  },
  'users update': {
    operation: 'access.update-user',
    meaning: "change a person's e-mail or name",
    argument: USER,
    optional: ['email', 'name'],
  },
  'users delete': {
    operation: 'access.delete-user',
    meaning: 'delete a person and revoke their keys',
    argument: USER,
  },
  'keys list': { operation: 'access.list-keys', meaning: 'list the keys that are not revoked, newest first' },
  'keys create': {
    operation: 'access.create-key',
    meaning: 'create a key and print it, this once (by default named like its scopes, for ever)',
    defaultName: 'scopes',
    required: ['workspace', 'scopes'],
    optional: ['name', 'user', 'expires', ...LIMITS],
  },
  'keys update': {
    operation: 'access.update-key',
    meaning: 'rename, disable or enable a key',
    argument: KEY,
    optional: ['name', 'disable', 'enable'],
  },
  'keys rotate': {
    operation: 'access.rotate-key',
    meaning: 'replace a key by a new one and print it, this once (by default with the same expiry)',
    argument: KEY,
    optional: ['grace-seconds', 'expires'],
  },
  'keys revoke': { operation: 'access.revoke-key', meaning: 'revoke a key', argument: KEY },
  'agents list': {
    operation: 'chat.list-agents',
    meaning: 'list those who answer in conversations, newest first',
  },
  'agents show': { operation: 'chat.read-agent', meaning: 'show an agent', argument: AGENT },
  'agents put': {
    operation: 'chat.put-agent',
    meaning: 'create or replace an agent',
    argument: AGENT,
    required: ['workspace', 'name', 'kind'],
    optional: [
      'model',
      'instructions',
      'temperature',
      'history-messages',
      'history-tokens',
      'knowledge',
      'knowledge-only',
      'not-found-text',
      'replies',
      'default',
    ],
  },
  'agents delete': {
    operation: 'chat.delete-agent',
    meaning: "delete an agent; its sessions go on with the workspace's default",
    argument: AGENT,
  },
  'bots list': { operation: 'bots.list', meaning: 'list the bots, newest first' },
  'bots show': { operation: 'bots.read', meaning: 'show a bot', argument: BOT },
  'bots put': {
    operation: 'bots.put',
    meaning: 'register a bot, or replace its registration',
    argument: BOT,
    required: ['workspace', 'mode'],
    optional: ['audience', 'jwks', 'service-account', 'agent', 'welcome', 'commands'],
  },
  'bots delete': { operation: 'bots.delete', meaning: 'remove a bot', argument: BOT },
  'content show': { operation: 'documents.content-settings', meaning: 'show whether files are read' },
  'content set': {
    operation: 'documents.put-content-settings',
    meaning: 'decide whether files are read',
    argument: READING,
  },
  'model-usage show': {
    operation: 'models.usage',
    meaning: 'show requests, tokens, cost and times of models, in sums',
    optional: ['by', 'from', 'to'],
  },
  'dead-letters list': {
    operation: 'metrics.list-dead-letters',
    meaning: 'list usage events that were accepted and that the database refused, newest first',
  },
  'dead-letters replay': {
    operation: 'metrics.replay-dead-letters',
    meaning: 'send the oldest 1,000 to the database again, or the ones named',
    optional: ['ids'],
  },
  'dead-letters purge': {
    operation: 'metrics.purge-dead-letters',
    meaning: 'delete all of them for good, or the ones named',
    optional: ['ids'],
  },
  'audit show': {
    operation: 'access.list-audit',
    meaning: 'show who changed what in a workspace, newest first (by default 50 rows)',
    optional: AUDIT_FILTERS,
  },
  'audit service': {
    operation: 'access.list-service-audit',
    meaning: 'show who changed what of the service as a whole',
    required: [],
    optional: AUDIT_FILTERS,
  },
  'bucket show': {
    operation: 'bucket.show',
    audits: [],
    meaning: 'show whether the bucket is swept, and why not',
    required: [],
  },
  'bucket adopt': {
    operation: 'bucket.adopt',
    audits: ['bucket.adopt'],
    meaning:
      "make the bucket this database's as it is; objects without a record in it are swept from then on",
    required: [],
  },
  backup: {
    operation: 'service.backup',
    audits: ['service.backup'],
    meaning: 'bring the backup in a folder to this moment, while the service runs or not',
    argument: FOLDER,
    required: [],
  },
  verify: {
    operation: 'service.verify',
    audits: [],
    meaning: 'read a backup to its last byte; ends with 1 when something is damaged or missing',
    argument: FOLDER,
    required: [],
  },
  restore: {
    operation: 'service.restore',
    audits: ['service.restore'],
    meaning: 'fill an empty service from a backup, while it is stopped',
    argument: FOLDER,
    required: [],
  },
  move: {
    operation: 'service.move',
    audits: ['service.move'],
    meaning:
      'copy everything to an empty database and another store, while the service runs; its last step makes it read-only',
    required: ['target'],
  },
  'move cancel': {
    operation: 'service.cancel-move',
    audits: ['service.cancel-move'],
    meaning: 'let the service take changes again after a move that was killed, or that is not to be',
    required: [],
  },
  'search reindex': {
    operation: 'search.reindex',
    audits: ['search.reindex'],
    meaning: 'make the search index anew from the documents; searches go on meanwhile',
    required: [],
  },
  'search verify': {
    operation: 'search.verify',
    audits: ['search.repair'],
    meaning: 'compare the search index with the documents; ends with 1 when they differ',
    required: [],
    optional: ['repair'],
  },
};

export const COMMANDS: readonly Command[] = Object.entries(STATED).map(([words, command]) => ({
  words,
  required: ['workspace'],
  optional: [],
  ...command,
}));
