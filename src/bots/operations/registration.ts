import type { Clock } from '../../core/clock.ts';
import { notFound } from '../../core/errors.ts';
import { type Page, type PageRequest, toPage } from '../../http/paging.ts';
import type { Bot, BotReference, Verification } from '../bot.ts';
import { checkRegistration } from '../check-registration.ts';
import type { BotPut, BotRead } from '../schema.ts';
import type { BotStore } from '../store/bots.ts';

export type RegistrationDeps = {
  store: BotStore;
  /** Throws 404 for a workspace that does not exist. */
  requireWorkspace(id: string): Promise<void>;
  /** Drops the cached bot. */
  forget(reference: BotReference): void;
  clock: Clock;
};

export type Registration = ReturnType<typeof createRegistration>;

/**
 * The bots of a workspace. A change applies from the next event on; in other processes after the notification of the
 * database.
 */
export function createRegistration({ store, requireWorkspace, forget, clock }: RegistrationDeps) {
  const keepsUrl = async (reference: BotReference, { verification: { jwks } }: BotPut): Promise<boolean> => {
    if (typeof jwks !== 'string') return false;
    const verification = (await store.find(reference))?.verification;
    return verification?.jwks === jwks && verification.jwks_anywhere;
  };

  return {
    async list(workspaceId: string, page: PageRequest): Promise<Page<BotRead>> {
      await requireWorkspace(workspaceId);
      return toPage(await store.list(workspaceId, page), page.limit, render);
    },

    /** Throws 404. */
    async read(reference: BotReference): Promise<BotRead> {
      const bot = await store.find(reference);
      if (bot === undefined) throw botNotFound();
      return render(bot);
    },

    /**
     * Makes or replaces the bot. Only an operator may have its keys fetched from an address that is not public; others
     * may keep the URL that an operator has given. Throws ValidationFailure for settings with which it could not work,
     * 404.
     */
    async put(reference: BotReference, body: BotPut, byOperator: boolean): Promise<BotRead> {
      const settings = await checkRegistration(body, byOperator || (await keepsUrl(reference, body)));
      await requireWorkspace(reference.workspaceId);
      const at = clock.now();
      const bot = await store.put({ ...reference, ...settings, createdAt: at, updatedAt: at });
      forget(reference);
      return render(bot);
    },

    /** Throws 404. */
    async delete(reference: BotReference): Promise<void> {
      const deleted = await store.delete(reference);
      forget(reference);
      if (!deleted) throw botNotFound();
    },
  };
}

export const botNotFound = () => notFound('Bot not found');

/** The verification without the internal field. */
const toRead = ({ jwks_anywhere: _, ...verification }: Verification): BotRead['verification'] => verification;

const render = (bot: Bot): BotRead => ({
  id: bot.id,
  verification: toRead(bot.verification),
  agent_id: bot.agentId,
  welcome_text: bot.welcomeText,
  commands: [...bot.commands],
  created_at: bot.createdAt.toISOString(),
  updated_at: bot.updatedAt.toISOString(),
});
