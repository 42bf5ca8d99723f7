// The events that the service itself emits, as all areas see them.

/** An event without a transaction, which is counted and billed. */
export type ServiceEvent = {
  workspaceId: string;
  type: string;
  /** The person's e-mail, lower-cased; `''` where there is none. */
  subject: string;
  data: { value: number | string; [field: string]: unknown };
  /** The idempotency key: an event with the same id is stored once. */
  eventId: string;
  /** When it happened. */
  time: Date;
};

/**
 * Sums of events that an area stores: an INSERT from the relation `stored`, the events of this transaction that were not
 * stored before, with `workspace_id`, `type`, `source`, `subject`, `time`, `value` and, for the projection's own type,
 * `data`. Therefore an event counts once, also after repeated delivery.
 */
export type EventProjection = { type: string; statement: string };

/**
 * Records an event synchronously; never throws. After true the event survives the process. False: the disk refuses it, and
 * the caller has to retry.
 */
export type RecordEvent = (event: ServiceEvent) => boolean;

/**
 * Emits events of transactions. The statement that causes an event selects `usage_tell(workspace_id, type, subject, data)`,
 * which inserts it into the outbox in the same transaction. This function is called after the commit, so that the event is
 * moved to the stored events at once; if the process dies before, it is moved within a second.
 */
export type WakeEventMover = () => void;

/**
 * Resolves once all events that were recorded before the call would survive a loss of power. The caller may then delete their
 * sources. Rejects while that is uncertain.
 */
export type AwaitRecorded = () => Promise<void>;
