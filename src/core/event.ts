// What the service reports of itself, as every area sees it.

/** Something that happened outside of any transaction, to be counted and billed. */
export type ServiceEvent = {
  workspaceId: string;
  type: string;
  /** The person's e-mail, lower-cased; `''` where there is none. */
  subject: string;
  data: { value: number | string; [field: string]: unknown };
  /** The same again is the same event. */
  eventId: string;
  /** When it happened. */
  time: Date;
};

/**
 * Sums that an area keeps of events: an INSERT from the relation `stored`, the events of this transaction that were not
 * stored before, with `workspace_id`, `type`, `source`, `subject`, `time`, `value` and, for the projection's own type,
 * `data`. So an event counts once, however often it is delivered.
 */
export type EventProjection = { type: string; statement: string };

/**
 * Records an event: at once, without waiting and without ever throwing. When it returns true, the event outlives the
 * process. False: the disk does not take it, and the caller keeps it and tries again.
 */
export type RecordEvent = (event: ServiceEvent) => boolean;

/**
 * For events whose cause is a transaction. The statement that causes one selects `usage_tell(workspace_id, type, subject,
 * data)`, which puts it into the outbox: it is there exactly when its cause is. This is called after the commit, so that it
 * is moved to the stored events at once; where the process dies before, that takes a second.
 */
export type WakeEventMover = () => void;

/**
 * Resolves once everything that was recorded before the call would survive a loss of power. What an event was made of is
 * forgotten after that. Rejects where that is not sure now.
 */
export type AwaitRecorded = () => Promise<void>;
