// What the administration of workspaces, users and keys takes and answers.

import { type Static, Type } from '@sinclair/typebox';
import { type KeyLimits, SCOPES } from '../core/principal.ts';
import { PageQuery, pageOf } from '../http/paging.ts';
import {
  component,
  described,
  flag,
  Moment,
  moment,
  nullable,
  oneOf,
  optional,
  text,
  WorkspacePath,
} from '../http/schemas.ts';
import { GRACE_SECONDS_MAX } from './limits.ts';
import { WORKSPACE_NAME_PATTERN } from './workspace-names.ts';

/** How a person signed in to the portal: with a key, with a one-time link, or at an OpenID Connect provider. */
export const PROVIDERS = ['key', 'link', 'oidc'] as const;
export type Provider = (typeof PROVIDERS)[number];

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

export const WorkspaceRead = component('WorkspaceRead', 'A workspace.', {
  id: text('What stands in every URL of the workspace.'),
  name: text('Its name.'),
  created_at: moment('When it was made.'),
});
export type WorkspaceRead = Static<typeof WorkspaceRead>;
export const WorkspacePage = pageOf(WorkspaceRead, 'WorkspacePage');

export const WorkspaceCreate = component('WorkspaceCreate', 'A new workspace.', {
  id: Type.String({ pattern: WORKSPACE_NAME_PATTERN, description: 'Stands in every URL of the workspace.' }),
  name: optional(Name, 'The name.'),
});

export const UserRead = component('UserRead', 'A person of a workspace.', {
  id: described(Id, 'The identifier of the person.'),
  email: text('The e-mail address, in lower case.'),
  name: nullable(Type.String(), 'The name.'),
  created_at: moment('When the person was added.'),
});
export type UserRead = Static<typeof UserRead>;
export const UserPage = pageOf(UserRead, 'UserPage');

export const UserCreate = component('UserCreate', 'A new person.', {
  email: Email,
  name: optional(Name, 'The name.'),
});

export const UserPatch = component('UserPatch', 'Changes to a person.', {
  email: Type.Optional(Email),
  name: optional(Name, 'The name.'),
});

const ScopeEnum = oneOf(SCOPES);

const PerMinute = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
export const KeyLimitsSchema = component(
  'KeyLimits',
  'Ceilings that the gateway enforces; absent or null: none.',
  {
    requests_per_minute: optional(PerMinute, 'Requests to models in a minute.'),
    tokens_per_minute: optional(PerMinute, 'Tokens in a minute.'),
    budget_per_month: optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 1e12, description: 'In the currency of the prices.' }),
    ),
  },
);

/** The limits that are set; unknown names are left out. */
export function toLimits(limits: Static<typeof KeyLimitsSchema> | null | undefined): KeyLimits {
  const { requests_per_minute, tokens_per_minute, budget_per_month } = limits ?? {};
  return {
    ...(requests_per_minute == null ? {} : { requests_per_minute }),
    ...(tokens_per_minute == null ? {} : { tokens_per_minute }),
    ...(budget_per_month == null ? {} : { budget_per_month }),
  };
}

const keyFields = {
  id: described(Id, 'The identifier of the key.'),
  name: text('What the key is for.'),
  prefix: text('The first characters of the key, to recognise it by.'),
  scopes: described(Type.Array(ScopeEnum), 'What the key may be used for.'),
  user_email: text('The person the key acts for.'),
  limits: KeyLimitsSchema,
  disabled: flag('Whether it is refused for the time being.'),
  created_at: moment('When it was made.'),
  expires_at: nullable(Moment, 'When it ends; null: never.'),
  last_used_at: nullable(Moment, 'When it was last used, to the minute; null: never.'),
};
export const KeyRead = component('KeyRead', 'An API key, but not its text.', keyFields);
export type KeyRead = Static<typeof KeyRead>;
export const KeyPage = pageOf(KeyRead, 'KeyPage');

export const KeyCreated = component('KeyCreated', 'A new API key.', {
  ...keyFields,
  key: text('The key itself: shown this once.'),
});
export type KeyCreated = Static<typeof KeyCreated>;

export const KeyCreate = component('KeyCreate', 'The API key that is to be made.', {
  name: described(Name, 'What the key is for.'),
  scopes: described(
    Type.Array(ScopeEnum, { minItems: 1, maxItems: 2 * SCOPES.length }),
    'What the key may be used for.',
  ),
  user_email: optional(Email, 'The person that the key acts for; absent: the caller.'),
  expires_at: optional(Moment, 'When it ends; null or absent: never.'),
  limits: optional(KeyLimitsSchema),
});
export type KeyCreate = Static<typeof KeyCreate>;

export const KeyPatch = component('KeyPatch', 'Changes to an API key.', {
  name: Type.Optional(described(Name, 'What the key is for.')),
  disabled: Type.Optional(flag('Whether it is refused for the time being.')),
});
export type KeyPatch = Static<typeof KeyPatch>;

export const KeyRotate = component('KeyRotate', 'How an API key is replaced.', {
  grace_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: GRACE_SECONDS_MAX,
      default: 0,
      description: 'Time for which the old key stays valid.',
    }),
  ),
  expires_at: optional(Moment, 'When the new key ends; absent: as the old one.'),
});
export type KeyRotate = Static<typeof KeyRotate>;

export const SessionCreate = component('SessionCreate', 'A sign-in to the portal.', {
  key: text('A key; the session has its rights.'),
});
export type SessionCreate = Static<typeof SessionCreate>;

export const SessionRead = component('SessionRead', 'For whom a key speaks.', {
  workspace_id: text('The workspace that the key belongs to.'),
  user_id: described(Id, 'The person that the key acts for.'),
  user_email: text('The e-mail address of this person.'),
  key_id: described(Id, 'The identifier of the key.'),
  scopes: Type.Array(ScopeEnum, { description: 'What the key may be used for.' }),
  sign_on_workspaces: nullable(
    Type.Array(Type.String()),
    'The workspaces that the sign-in at the OpenID Connect provider opens; null for other sign-ins, and for keys.',
  ),
});

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
    since: Type.Optional(text('The earliest time, a date with or without time.')),
    until: Type.Optional(text('The time after the latest, a date with or without time.')),
    ...PageQuery.properties,
  },
  { additionalProperties: false },
);
export type AuditQuery = Static<typeof AuditQuery>;

const AuditState = (when: string) =>
  nullable(Type.Record(Type.String(), Type.Unknown()), `The object ${when} the change, without secrets.`);

export const AuditEntry = component('AuditEntry', 'A change, and who made it.', {
  id: text('The number of the row.'),
  created_at: moment('When the change was made.'),
  action: text('The operation that makes such a change.'),
  actor: text(
    'The e-mail of the person, as it was then; or `command-line`, `service` for its jobs, or `nobody` for a refused sign-in without a known key.',
  ),
  via: oneOf(['key', 'session', 'sign-on', 'command-line', 'service'], {
    description: 'How the actor was identified.',
  }),
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
});
export type AuditEntry = Static<typeof AuditEntry>;
export const AuditPage = pageOf(AuditEntry, 'AuditPage');

export const LinkSessionCreate = component(
  'LinkSessionCreate',
  'A sign-in to the portal with a one-time link.',
  { link: text('What stands behind the `#` of the link.') },
);

export const PortalSessionPath = Type.Object({
  ...WorkspacePath.properties,
  session_id: described(Id, 'The identifier of the session.'),
});

export const PortalSessionRead = component('PortalSession', 'An open session of the portal.', {
  id: described(Id, 'The identifier of the session.'),
  user_email: text('Who has signed in.'),
  key_name: text('The key whose rights the session has.'),
  provider: described(
    oneOf(PROVIDERS),
    'Whether the person signed in with a key, with a one-time link, or at the OpenID Connect provider.',
  ),
  user_agent: nullable(Type.String(), 'The browser, as it names itself.'),
  current: flag('Whether the request has come with this session.'),
  created_at: moment('When the person signed in.'),
  expires_at: moment('When the session ends.'),
});
export type PortalSessionRead = Static<typeof PortalSessionRead>;
export const PortalSessionPage = pageOf(PortalSessionRead, 'PortalSessionPage');
