// The input and output of the administration of the portal's sessions.

import { type Static, Type } from '@sinclair/typebox';
import { pageOf } from '../http/paging.ts';
import { component, described, flag, moment, nullable, oneOf, text, WorkspacePath } from '../http/schemas.ts';
import { PROVIDERS } from './store/sessions.ts';

const Id = Type.String({ format: 'uuid' });

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
