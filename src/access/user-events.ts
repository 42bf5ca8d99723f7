import type { Clock } from '../core/clock.ts';
import type { RecordEvent, ServiceEvent } from '../core/event.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import { USER_EVENTS_RETRY_MS, USER_EVENTS_WAITING_MAX } from './limits.ts';

export type UserEvent = {
  workspaceId: string;
  /** Of the person that the event is about. */
  email: string;
  /** How: by a key, or by an administrator. */
  provider: 'key' | 'admin';
};

export type UserEvents = {
  /** Records `auth.user.<what>`. What the disk does not take is kept in memory, and tried again until it does. */
  tell(what: 'logout' | 'create' | 'delete' | 'update', about: UserEvent): void;
  /** The same for what can still be taken back: false where it is not recorded, and will not be. */
  tellAtOnce(what: 'login', about: UserEvent): boolean;
  /** Tries again. */
  job: Job;
};

export function createUserEvents({
  record,
  clock,
  log,
}: {
  record: RecordEvent;
  clock: Clock;
  log: Logger;
}): UserEvents {
  const waiting: ServiceEvent[] = [];
  const toEvent = (what: string, { workspaceId, email, provider }: UserEvent): ServiceEvent => ({
    ...{ workspaceId, type: `auth.user.${what}`, subject: email, data: { value: 1, provider } },
    time: clock.now(),
  });
  const retry = (): void => {
    for (let [event] = waiting; event !== undefined && record(event); [event] = waiting) waiting.shift();
  };
  const logLost = (events: number): void =>
    log.error({ events }, 'events of sign-ins and people are lost: the disk did not take them');
  const retrying = createPeriodic({
    name: 'access.user-events',
    intervalMs: USER_EVENTS_RETRY_MS,
    run: async () => retry(),
    log,
  });
  return {
    tell(what, about) {
      const event = toEvent(what, about);
      if (waiting.length === 0 && record(event)) return;
      if (waiting.length < USER_EVENTS_WAITING_MAX) waiting.push(event);
      else logLost(1);
    },
    tellAtOnce: (what, about) => record(toEvent(what, about)),
    job: {
      ...retrying,
      async stop() {
        await retrying.stop();
        retry();
        if (waiting.length > 0) logLost(waiting.length);
      },
    },
  };
}
