// The commands: operations of the interface, which validate the values of the options themselves, and maintenance, which only the
// command line offers.

import { WORKSPACE_NAME_FORM } from '../access/index.ts';
import { OPTIONS, type OptionName, type Place } from './options.ts';

export type Command = {
  /** The words of the command, such as `keys create`. */
  words: string;
  operation: string;
  meaning: string;
  /** The positional argument; `form`: a description of its form. */
  argument?: { place: Place; value: string; form?: string } | undefined;
  required: readonly OptionName[];
  optional: readonly OptionName[];
  /** The actions that maintenance writes to the audit log; those of an operation stand with that. */
  audits?: readonly string[];
};

/** Where the positional arguments stand in an operation's request, by the name of their value. */
const ARGUMENTS: Readonly<Record<string, { place: Place; form?: string }>> = {
  name: { place: ['body', 'id'], form: WORKSPACE_NAME_FORM },
  'user id': { place: ['path', 'user_id'] },
  'key id': { place: ['path', 'key_id'] },
  'bot id': { place: ['path', 'bot_id'] },
  'agent id': { place: ['path', 'agent_id'] },
  folder: { place: ['body', 'folder'] },
  'on|off': { place: ['body', 'reading'] },
};

const AUDIT_FILTERS = '[--action --actor --object --since --until --limit --cursor]';

/** Synopsis (optional options in brackets), operation, meaning, and the actions of maintenance. */
const STATED: readonly [synopsis: string, operation: string, meaning: string, audits?: string[]][] = [
  ['workspaces list', 'access.list-workspaces', 'list workspaces, newest first'],
  ['workspaces create <name> [--name]', 'access.create-workspace', 'create a workspace'],
  ['users list --workspace', 'access.list-users', 'list the people of a workspace, newest first'],
  ['users create --workspace --email [--name]', 'access.create-user', 'add a person'],
  [
    'users update <user id> --workspace [--email --name]',
    'access.update-user',
    "change a person's e-mail or name",
  ],
  ['users delete <user id> --workspace', 'access.delete-user', 'delete a person and revoke their keys'],
  ['keys list --workspace', 'access.list-keys', 'list the keys that are not revoked, newest first'],
  [
    'keys create --workspace --scopes [--name --user --expires --requests-per-minute --tokens-per-minute --budget-per-month]',
    'access.create-key',
    'create a key and print it, this once (by default named like its scopes, for ever)',
  ],
  [
    'keys update <key id> --workspace [--name --disable --enable]',
    'access.update-key',
    'rename, disable or enable a key',
  ],
  [
    'keys rotate <key id> --workspace [--grace-seconds --expires]',
    'access.rotate-key',
    'replace a key by a new one and print it, this once (by default with the same expiry)',
  ],
  ['keys revoke <key id> --workspace', 'access.revoke-key', 'revoke a key'],
  ['agents list --workspace', 'chat.list-agents', 'list those who answer in conversations, newest first'],
  ['agents show <agent id> --workspace', 'chat.read-agent', 'show an agent'],
  [
    'agents put <agent id> --workspace --name --kind [--model --instructions --temperature --history-messages --history-tokens --knowledge --knowledge-only --not-found-text --replies --default]',
    'chat.put-agent',
    'create or replace an agent',
  ],
  [
    'agents delete <agent id> --workspace',
    'chat.delete-agent',
    "delete an agent; its sessions go on with the workspace's default",
  ],
  ['bots list --workspace', 'bots.list', 'list the bots, newest first'],
  ['bots show <bot id> --workspace', 'bots.read', 'show a bot'],
  [
    'bots put <bot id> --workspace --mode [--audience --jwks --service-account --agent --welcome --commands]',
    'bots.put',
    'register a bot, or replace its registration',
  ],
  ['bots delete <bot id> --workspace', 'bots.delete', 'remove a bot'],
  ['content show --workspace', 'documents.content-settings', 'show whether files are read'],
  ['content set <on|off> --workspace', 'documents.put-content-settings', 'decide whether files are read'],
  [
    'model-usage show --workspace [--by --from --to]',
    'models.usage',
    'show requests, tokens, cost and times of models, in sums',
  ],
  [
    'dead-letters list --workspace',
    'metrics.list-dead-letters',
    'list usage events that were accepted and that the database refused, newest first',
  ],
  [
    'dead-letters replay --workspace [--ids]',
    'metrics.replay-dead-letters',
    'send the oldest 1,000 to the database again, or the ones named',
  ],
  [
    'dead-letters purge --workspace [--ids]',
    'metrics.purge-dead-letters',
    'delete all of them for good, or the ones named',
  ],
  [
    `audit show --workspace ${AUDIT_FILTERS}`,
    'access.list-audit',
    'show who changed what in a workspace, newest first (by default 50 rows)',
  ],
  [
    `audit service ${AUDIT_FILTERS}`,
    'access.list-service-audit',
    'show who changed what of the service as a whole',
  ],
  ['bucket show', 'bucket.show', 'show whether the bucket is swept, and why not', []],
  [
    'bucket adopt',
    'bucket.adopt',
    "make the bucket this database's as it is; objects without a record in it are swept from then on",
    ['bucket.adopt'],
  ],
  [
    'backup <folder>',
    'service.backup',
    'bring the backup in a folder to this moment, while the service runs or not',
    ['service.backup'],
  ],
  [
    'verify <folder>',
    'service.verify',
    'read a backup to its last byte; ends with 1 when something is damaged or missing',
    [],
  ],
  [
    'restore <folder>',
    'service.restore',
    'fill an empty service from a backup, while it is stopped',
    ['service.restore'],
  ],
  [
    'move --target',
    'service.move',
    'copy everything to an empty database and another store, while the service runs; its last step makes it read-only',
    ['service.move'],
  ],
  [
    'move cancel',
    'service.cancel-move',
    'let the service take changes again after a move that was killed, or that is not to be',
    ['service.cancel-move'],
  ],
  [
    'search reindex',
    'search.reindex',
    'make the search index anew from the documents; searches go on meanwhile',
    ['search.reindex'],
  ],
  [
    'search verify [--repair]',
    'search.verify',
    'compare the search index with the documents; ends with 1 when they differ',
    ['search.repair'],
  ],
];

export const COMMANDS: readonly Command[] = STATED.map(([synopsis, operation, meaning, audits]) => {
  const [, words = '', value, required = '', optional = ''] =
    /^([a-z -]*?[a-z])(?: <(.+)>)?((?: --[\w-]+)*)(?: \[(.+)\])?$/.exec(synopsis) ?? [];
  const argument = ARGUMENTS[value ?? ''];
  return {
    words,
    operation,
    meaning,
    argument: value === undefined || argument === undefined ? undefined : { value, ...argument },
    required: namesIn(required),
    optional: namesIn(optional),
    ...(audits === undefined ? {} : { audits }),
  };
});

function namesIn(options: string): OptionName[] {
  const isOption = (name: string): name is OptionName => name in OPTIONS;
  return [...options.matchAll(/--([\w-]+)/g)].map(([, name = '']) => name).filter(isOption);
}

/** The meaning of the first words of commands, each with an example. */
export const GROUPS: Readonly<Record<string, { meaning: string; example: string }>> = {
  workspaces: {
    meaning: 'organisations, teams or products, whose people, keys and data are apart',
    example: 'workspaces create acme',
  },
  users: {
    meaning: 'the people of a workspace',
    example: 'users create --workspace acme --email ada@example.com',
  },
  keys: {
    meaning: 'what applications and people identify themselves with',
    example: 'keys create --workspace acme --scopes documents:read,metrics --expires 90d',
  },
  agents: {
    meaning: 'who answers in conversations',
    example: 'agents put helper --workspace acme --name Helper --kind persona --default',
  },
  bots: {
    meaning: 'bots of chat apps',
    example: 'bots put helper --workspace acme --mode project_number --audience 123456789012',
  },
  content: {
    meaning: "whether a workspace's files are read, so that their text is kept",
    example: 'content set off --workspace acme',
  },
  'model-usage': {
    meaning: 'what models were used for, and by whom',
    example: 'model-usage show --workspace acme --by key --from 2026-01-01',
  },
  'dead-letters': {
    meaning: 'usage events that were accepted and that the database refused',
    example: 'dead-letters replay --workspace acme',
  },
  audit: {
    meaning: 'who changed what by the administration, and purged which documents',
    example: 'audit show --workspace acme --object key --since 2026-01-01',
  },
  bucket: {
    meaning: 'whose objects the bucket holds, after a restored backup or a mistake',
    example: 'bucket show',
  },
  backup: { meaning: 'a copy of everything, in a folder', example: 'backup /backups/atrium' },
  verify: { meaning: 'whether a backup is whole', example: 'verify /backups/atrium' },
  restore: { meaning: 'a service from a backup', example: 'restore /backups/atrium' },
  move: {
    meaning: 'to another database and another store, such as from embedded ones to your own',
    example: 'move --target production.env',
  },
  search: { meaning: 'what searches are answered from', example: 'search verify --repair' },
};
