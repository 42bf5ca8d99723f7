// The input and output of the administration of the portal's sessions.

import { type Static, Type } from '@sinclair/typebox';
import { pageOf } from '../http/paging.ts';
import { described, Moment, nullable, WorkspacePath } from '../http/schemas.ts';

const Id = Type.String({ format: 'uuid' });

export const LinkSessionCreate = Type.Object(
  { link: Type.String({ description: 'What stands behind the `#` of the link.' }) },
  { $id: 'LinkSessionCreate', description: 'A sign-in to the portal with a one-time link.' },
);

export const PortalSessionPath = Type.Object({
  ...WorkspacePath.properties,
  session_id: described(Id, 'The identifier of the session.'),
});

export const PortalSessionRead = Type.Object(
  {
    id: described(Id, 'The identifier of the session.'),
    user_email: Type.String({ description: 'Who has signed in.' }),
    key_name: Type.String({ description: 'The key whose rights the session has.' }),
    provider: described(
      Type.Union([Type.Literal('key'), Type.Literal('link')]),
      'Whether the person signed in with a key or with a one-time link.',
    ),
    user_agent: nullable(Type.String(), 'The browser, as it names itself.'),
    current: Type.Boolean({ description: 'Whether the request has come with this session.' }),
    created_at: described(Moment, 'When the person signed in.'),
    expires_at: described(Moment, 'When the session ends.'),
  },
  { $id: 'PortalSession', description: 'An open session of the portal.' },
);
export type PortalSessionRead = Static<typeof PortalSessionRead>;
export const PortalSessionPage = pageOf(PortalSessionRead, 'PortalSessionPage');
