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
