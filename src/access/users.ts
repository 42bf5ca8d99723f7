import type { Clock } from '../core/clock.ts';
import { conflict, notFound } from '../core/errors.ts';
import type { WakeEventMover } from '../core/event.ts';
import { newId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import { type Page, type PageRequest, toPage } from '../http/paging.ts';
import { isOperator, operatorsOnly } from './operators.ts';
import type { UserCreate, UserPatch, UserRead } from './schema.ts';
import type { User, UserReference, UserStore } from './store/users.ts';

export type UsersDeps = {
  store: UserStore;
  /** Throws 404 for a workspace that does not exist. */
  requireWorkspace(id: string): Promise<void>;
  /** Drops the cached principals of the keys with these hashes. */
  forget(keyHashes: readonly string[]): void;
  wakeMover: WakeEventMover;
  clock: Clock;
};

export type Users = ReturnType<typeof createUsers>;

/** The users of a workspace. E-mails compare in lower case. */
export function createUsers({ store, requireWorkspace, forget, wakeMover, clock }: UsersDeps) {
  return {
    async list(workspaceId: string, page: PageRequest): Promise<Page<UserRead>> {
      await requireWorkspace(workspaceId);
      return toPage(await store.list(workspaceId, page), page.limit, render);
    },

    /** Throws 404 for an unknown workspace, 409 when the e-mail is taken. */
    async create(workspaceId: string, { email, name }: UserCreate): Promise<UserRead> {
      await requireWorkspace(workspaceId);
      const user = { id: newId(), email: email.toLowerCase(), name: name ?? null, createdAt: clock.now() };
      const made = await store.insert(workspaceId, user);
      if (made === undefined) throw emailTaken();
      wakeMover();
      return render(made);
    },

    /** Throws 404 for an unknown user, 403 when others than operators change an operator, 409 when the e-mail is taken. */
    async update(
      principal: Principal,
      reference: UserReference,
      { email, name }: UserPatch,
    ): Promise<UserRead> {
      const changes = {
        ...(email === undefined ? {} : { email: email.toLowerCase() }),
        ...(name === undefined ? {} : { name }),
      };
      const outcome = await store.update(reference, changes, { spareOperators: !isOperator(principal) });
      if (outcome === 'operator') throw operatorsOnly();
      if (outcome === 'email taken') throw emailTaken();
      if (outcome === undefined) throw userNotFound();
      forget(outcome.keyHashes);
      wakeMover();
      return render(outcome.user);
    },

    /** Deletes the user and revokes their keys; from then on no request with one is accepted. Throws 404; 403 as `update`. */
    async delete(principal: Principal, reference: UserReference): Promise<void> {
      const deleted = await store.delete(reference, { spareOperators: !isOperator(principal) });
      if (deleted === 'operator') throw operatorsOnly();
      if (deleted === undefined) throw userNotFound();
      forget(deleted.keyHashes);
      wakeMover();
    },
  };
}

const emailTaken = () => conflict('The workspace has a user of this e-mail');
const userNotFound = () => notFound('User not found');

const render = ({ id, email, name, createdAt }: User): UserRead => ({
  id,
  email,
  name,
  created_at: createdAt.toISOString(),
});
