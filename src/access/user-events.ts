import type { RecordEvent } from '../core/event.ts';

export type UserEvent = {
  workspaceId: string;
  /** Of the person whom it is about. */
  email: string;
  /** How: by a key, or by an administrator. */
  provider: 'key' | 'admin';
};

/** Records `auth.user.<what>`. */
export type TellOfUser = (
  what: 'login' | 'logout' | 'create' | 'delete' | 'update',
  about: UserEvent,
) => void;

export const createTellOfUser =
  (record: RecordEvent): TellOfUser =>
  (what, { workspaceId, email, provider }) =>
    record({ workspaceId, type: `auth.user.${what}`, subject: email, data: { value: 1, provider } });
