// What the service reports of itself, as every area sees it.

/** Something that happened, to be counted and billed. */
export type ServiceEvent = {
  workspaceId: string;
  /** A type of the interface's table ("Events"). */
  type: string;
  /** The person's e-mail, lower-cased; `''` where there is none. */
  subject: string;
  /** With `value`, as the table says. */
  data: { value: number | string; [field: string]: unknown };
  /** The same again is the same event; absent: each is another. */
  eventId?: string;
  /** When it happened; absent: now. */
  time?: Date;
};

/**
 * Sums that an area keeps of events: an INSERT from the relation `stored`, the events of this transaction that were not
 * stored before, with `workspace_id`, `type`, `source`, `subject`, `time`, `value` and, for the projection's own type,
 * `data`. So an event counts once, however often it is delivered.
 */
export type EventProjection = { type: string; statement: string };

/**
 * Records an event: at once, without waiting and without ever throwing. When it returns true, the event outlives the
 * process; so an operation records before it answers. False: the disk does not take it, and the caller keeps it and
 * tries again, or does not do what it would tell of.
 */
export type RecordEvent = (event: ServiceEvent) => boolean;
