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
  time: Date;
};

/**
 * Sums of events that an area stores: common table expressions that read the relation `stored`, the events of this transaction
 * that were not stored before, with `workspace_id`, `type`, `source`, `subject`, `time`, `value` and `data`. Therefore an event
 * counts once, also after repeated delivery.
 */
export type EventProjection = { type: string; statements: string };

/**
 * Records events: once it resolves they are durable in the buffer. If it rejects, some may be recorded; the caller keeps all
 * of them and tries again.
 */
export type RecordEvents = (events: readonly ServiceEvent[]) => Promise<void>;

/**
 * Emits events of transactions. The statement that causes an event selects `usage_tell(workspace_id, type, subject, data)`,
 * which inserts it into the outbox in the same transaction. This function is called after the commit, so that the event is
 * moved to the stored events at once; if the process dies before, it is moved within a second.
 */
export type WakeEventMover = () => void;
