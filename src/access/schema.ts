// What the administration of workspaces, users and keys takes and answers.

import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { SCOPES } from '../core/principal.ts';
import { pageOf } from '../http/paging.ts';
import { GRACE_SECONDS_MAX } from './limits.ts';
import { WORKSPACE_NAME_PATTERN } from './workspace-names.ts';

const NAME_LENGTH_MAX = 200;

const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const Id = Type.String({ format: 'uuid' });
const Moment = Type.String({ format: 'date-time' });
const Email = Type.String({
  format: 'email',
  maxLength: 320,
  description: 'Compared and kept in lower case.',
});
const Name = Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX });

export const WorkspacePath = Type.Object({
  workspace_id: Type.String({ description: 'Workspace that is administered.' }),
});
export const UserPath = Type.Object({ ...WorkspacePath.properties, user_id: Id });
export const KeyPath = Type.Object({ ...WorkspacePath.properties, key_id: Id });

export const WorkspaceRead = Type.Object(
  { id: Type.String(), name: Type.String(), created_at: Moment },
  { $id: 'WorkspaceRead' },
);
export type WorkspaceRead = Static<typeof WorkspaceRead>;
export const WorkspacePage = pageOf(WorkspaceRead, 'WorkspacePage');

export const WorkspaceCreate = Type.Object(
  {
    id: Type.String({
      pattern: WORKSPACE_NAME_PATTERN,
      description: 'Stands in every URL of the workspace.',
    }),
    name: Type.Optional(nullable(Name)),
  },
  { $id: 'WorkspaceCreate' },
);
export type WorkspaceCreate = Static<typeof WorkspaceCreate>;

export const UserRead = Type.Object(
  { id: Id, email: Type.String(), name: nullable(Type.String()), created_at: Moment },
  { $id: 'UserRead' },
);
export type UserRead = Static<typeof UserRead>;
export const UserPage = pageOf(UserRead, 'UserPage');

export const UserCreate = Type.Object(
  { email: Email, name: Type.Optional(nullable(Name)) },
  { $id: 'UserCreate' },
);
export type UserCreate = Static<typeof UserCreate>;

export const UserPatch = Type.Object(
  { email: Type.Optional(Email), name: Type.Optional(nullable(Name)) },
  { $id: 'UserPatch' },
);
export type UserPatch = Static<typeof UserPatch>;

const ScopeEnum = Type.Union(SCOPES.map((scope) => Type.Literal(scope)));

const PerMinute = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const KeyLimitsSchema = Type.Object(
  {
    requests_per_minute: Type.Optional(nullable(PerMinute)),
    tokens_per_minute: Type.Optional(nullable(PerMinute)),
    budget_per_month: Type.Optional(
      nullable(
        Type.Number({ exclusiveMinimum: 0, maximum: 1e12, description: 'In the currency of the prices.' }),
      ),
    ),
  },
  { $id: 'KeyLimits', description: 'Ceilings that the gateway enforces; absent or null: none.' },
);

const keyFields = {
  id: Id,
  name: Type.String(),
  prefix: Type.String({ description: 'The first characters of the key, to recognise it by.' }),
  scopes: Type.Array(ScopeEnum),
  user_email: Type.String({ description: 'The person the key acts for.' }),
  limits: KeyLimitsSchema,
  disabled: Type.Boolean(),
  created_at: Moment,
  expires_at: nullable(Moment),
  last_used_at: nullable(Moment),
};
export const KeyRead = Type.Object(keyFields, { $id: 'KeyRead' });
export type KeyRead = Static<typeof KeyRead>;
export const KeyPage = pageOf(KeyRead, 'KeyPage');

export const KeyCreated = Type.Object(
  { ...keyFields, key: Type.String({ description: 'The key itself: shown this once.' }) },
  { $id: 'KeyCreated' },
);
export type KeyCreated = Static<typeof KeyCreated>;

export const KeyCreate = Type.Object(
  {
    name: Name,
    scopes: Type.Array(ScopeEnum, { minItems: 1, maxItems: 2 * SCOPES.length }),
    user_email: Type.Optional(nullable(Email)),
    expires_at: Type.Optional(nullable(Moment)),
    limits: Type.Optional(nullable(KeyLimitsSchema)),
  },
  { $id: 'KeyCreate' },
);
export type KeyCreate = Static<typeof KeyCreate>;

export const KeyPatch = Type.Object(
  { name: Type.Optional(Name), disabled: Type.Optional(Type.Boolean()) },
  { $id: 'KeyPatch' },
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
    expires_at: Type.Optional(nullable(Moment)),
  },
  { $id: 'KeyRotate' },
);
export type KeyRotate = Static<typeof KeyRotate>;

export const SessionCreate = Type.Object(
  { key: Type.String({ description: 'A key with the scope `admin` or `operator`.' }) },
  { $id: 'SessionCreate' },
);
export type SessionCreate = Static<typeof SessionCreate>;

export const SessionRead = Type.Object(
  {
    workspace_id: Type.String({ description: 'The workspace that the key belongs to.' }),
    user_id: { ...Id, description: 'The person that the key acts for.' },
    user_email: Type.String({ description: 'The e-mail address of this person.' }),
    key_id: { ...Id, description: 'The key itself.' },
    scopes: Type.Array(ScopeEnum, { description: 'What the key may be used for.' }),
  },
  { $id: 'SessionRead', description: 'For whom a key speaks.' },
);
