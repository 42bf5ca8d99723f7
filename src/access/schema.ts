// What the administration of workspaces, users and keys takes and answers.

import { type Static, Type } from '@sinclair/typebox';
import { SCOPES } from '../core/principal.ts';
import { PageQuery, pageOf } from '../http/paging.ts';
import { described, Moment, nullable, optional, WorkspacePath } from '../http/schemas.ts';
import { GRACE_SECONDS_MAX } from './limits.ts';
import { WORKSPACE_NAME_PATTERN } from './workspace-names.ts';

const NAME_LENGTH_MAX = 200;

const Id = Type.String({ format: 'uuid' });
const Email = Type.String({
  format: 'email',
  maxLength: 320,
  description: 'Compared and kept in lower case.',
});
const Name = Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX });

export const UserPath = Type.Object({
  ...WorkspacePath.properties,
  user_id: described(Id, 'The identifier of the person.'),
});
export const KeyPath = Type.Object({
  ...WorkspacePath.properties,
  key_id: described(Id, 'The identifier of the key.'),
});

export const WorkspaceRead = Type.Object(
  {
    id: Type.String({ description: 'What stands in every URL of the workspace.' }),
    name: Type.String({ description: 'Its name.' }),
    created_at: described(Moment, 'When it was made.'),
  },
  { $id: 'WorkspaceRead', description: 'A workspace.' },
);
export type WorkspaceRead = Static<typeof WorkspaceRead>;
export const WorkspacePage = pageOf(WorkspaceRead, 'WorkspacePage');

export const WorkspaceCreate = Type.Object(
  {
    id: Type.String({
      pattern: WORKSPACE_NAME_PATTERN,
      description: 'Stands in every URL of the workspace.',
    }),
    name: optional(Name, 'The name.'),
  },
  { $id: 'WorkspaceCreate', description: 'A new workspace.' },
);

export const UserRead = Type.Object(
  {
    id: described(Id, 'The identifier of the person.'),
    email: Type.String({ description: 'The e-mail address, in lower case.' }),
    name: nullable(Type.String(), 'The name.'),
    created_at: described(Moment, 'When the person was added.'),
  },
  { $id: 'UserRead', description: 'A person of a workspace.' },
);
export type UserRead = Static<typeof UserRead>;
export const UserPage = pageOf(UserRead, 'UserPage');

export const UserCreate = Type.Object(
  { email: Email, name: optional(Name, 'The name.') },
  { $id: 'UserCreate', description: 'A new person.' },
);

export const UserPatch = Type.Object(
  { email: Type.Optional(Email), name: optional(Name, 'The name.') },
  { $id: 'UserPatch', description: 'Changes to a person.' },
);

const ScopeEnum = Type.Union(SCOPES.map((scope) => Type.Literal(scope)));

const PerMinute = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const KeyLimitsSchema = Type.Object(
  {
    requests_per_minute: optional(PerMinute, 'Requests to models in a minute.'),
    tokens_per_minute: optional(PerMinute, 'Tokens in a minute.'),
    budget_per_month: optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 1e12, description: 'In the currency of the prices.' }),
    ),
  },
  { $id: 'KeyLimits', description: 'Ceilings that the gateway enforces; absent or null: none.' },
);

const keyFields = {
  id: described(Id, 'The identifier of the key.'),
  name: Type.String({ description: 'What the key is for.' }),
  prefix: Type.String({ description: 'The first characters of the key, to recognise it by.' }),
  scopes: described(Type.Array(ScopeEnum), 'What the key may be used for.'),
  user_email: Type.String({ description: 'The person the key acts for.' }),
  limits: KeyLimitsSchema,
  disabled: Type.Boolean({ description: 'Whether it is refused for the time being.' }),
  created_at: described(Moment, 'When it was made.'),
  expires_at: nullable(Moment, 'When it ends; null: never.'),
  last_used_at: nullable(Moment, 'When it was last used, to the minute; null: never.'),
};
export const KeyRead = Type.Object(keyFields, {
  $id: 'KeyRead',
  description: 'An API key, but not its text.',
});
export type KeyRead = Static<typeof KeyRead>;
export const KeyPage = pageOf(KeyRead, 'KeyPage');

export const KeyCreated = Type.Object(
  { ...keyFields, key: Type.String({ description: 'The key itself: shown this once.' }) },
  { $id: 'KeyCreated', description: 'A new API key.' },
);
export type KeyCreated = Static<typeof KeyCreated>;

export const KeyCreate = Type.Object(
  {
    name: described(Name, 'What the key is for.'),
    scopes: described(
      Type.Array(ScopeEnum, { minItems: 1, maxItems: 2 * SCOPES.length }),
      'What the key may be used for.',
    ),
    user_email: optional(Email, 'The person that the key acts for; absent: the caller.'),
    expires_at: optional(Moment, 'When it ends; null or absent: never.'),
    limits: optional(KeyLimitsSchema),
  },
  { $id: 'KeyCreate', description: 'The API key that is to be made.' },
);
export type KeyCreate = Static<typeof KeyCreate>;

export const KeyPatch = Type.Object(
  {
    name: Type.Optional(described(Name, 'What the key is for.')),
    disabled: Type.Optional(Type.Boolean({ description: 'Whether it is refused for the time being.' })),
  },
  { $id: 'KeyPatch', description: 'Changes to an API key.' },
);
export type KeyPatch = Static<typeof KeyPatch>;

export const KeyRotate = Type.Object(
  {
    grace_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: GRACE_SECONDS_MAX,
        default: 0,
        description: 'Time for which the old key stays valid.',
      }),
    ),
    expires_at: optional(Moment, 'When the new key ends; absent: as the old one.'),
  },
  { $id: 'KeyRotate', description: 'How an API key is replaced.' },
);
export type KeyRotate = Static<typeof KeyRotate>;

export const SessionCreate = Type.Object(
  { key: Type.String({ description: 'A key with the scope `admin` or `operator`.' }) },
  { $id: 'SessionCreate', description: 'A sign-in to the portal.' },
);
export type SessionCreate = Static<typeof SessionCreate>;

export const SessionRead = Type.Object(
  {
    workspace_id: Type.String({ description: 'The workspace that the key belongs to.' }),
    user_id: described(Id, 'The person that the key acts for.'),
    user_email: Type.String({ description: 'The e-mail address of this person.' }),
    key_id: described(Id, 'The identifier of the key.'),
    scopes: Type.Array(ScopeEnum, { description: 'What the key may be used for.' }),
  },
  { $id: 'SessionRead', description: 'For whom a key speaks.' },
);

export const AuditQuery = Type.Object(
  {
    action: Type.Optional(
      Type.String({
        pattern: '^[a-z-]+\\.[a-z-]+$',
        description: 'The action, such as `access.create-key`.',
      }),
    ),
    actor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 320,
        description: 'The e-mail of a person, the id of a key, `command-line` or `service`.',
      }),
    ),
    object: Type.Optional(
      Type.String({
        pattern: '^[a-z-]+(?::[^]+)?$',
        maxLength: 600,
        description: 'The kind of the object, or `kind:id`, such as `user` or `agent:helper`.',
      }),
    ),
    since: Type.Optional(Type.String({ description: 'The earliest time, a date with or without time.' })),
    until: Type.Optional(
      Type.String({ description: 'The time after the latest, a date with or without time.' }),
    ),
    ...PageQuery.properties,
  },
  { additionalProperties: false },
);
export type AuditQuery = Static<typeof AuditQuery>;

const AuditState = (when: string) =>
  nullable(Type.Record(Type.String(), Type.Unknown()), `The object ${when} the change, without secrets.`);

export const AuditEntry = Type.Object(
  {
    id: Type.String({ description: 'The number of the row.' }),
    created_at: described(Moment, 'When the change was made.'),
    action: Type.String({ description: 'The operation that makes such a change.' }),
    actor: Type.String({
      description: 'The e-mail of the person, as it was then; or `command-line`, or `service` for its jobs.',
    }),
    via: Type.Union(
      (['key', 'session', 'command-line', 'service'] as const).map((via) => Type.Literal(via)),
      { description: 'How the actor was identified.' },
    ),
    user_id: nullable(Type.String(), 'The identifier of the person.'),
    key_id: nullable(Type.String(), 'The key of the request, or the one that opened its session.'),
    address: nullable(Type.String(), 'The IP address that the request came from.'),
    request_id: nullable(Type.String(), 'The `X-Request-Id` of the answer.'),
    object: Type.Object(
      { kind: Type.String(), id: nullable(Type.String()) },
      { description: 'What was changed.' },
    ),
    before: AuditState('before'),
    after: AuditState('after'),
  },
  { $id: 'AuditEntry', description: 'A change, and who made it.' },
);
export type AuditEntry = Static<typeof AuditEntry>;
export const AuditPage = pageOf(AuditEntry, 'AuditPage');
