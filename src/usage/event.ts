// A usage event as it is stored: the validated attributes of a CloudEvent, and the attributes that the service adds.

/** All columns except the time of storage, which the database sets. */
export type UsageEvent = {
  /** The id of the stored record, time-ordered. It is set at ingestion, so that a repeated delivery keeps it. */
  id: string;
  workspaceId: string;
  /** The sender's id of the event, unique with the source. */
  eventId: string;
  source: string;
  type: string;
  /** The person concerned; `''` if the event names none. */
  subject: string;
  /** Microseconds since 1970, UTC. */
  timeMicroseconds: bigint;
  /** JSON text of an object. */
  data: string;
  /** JSON text of the CloudEvents attributes beyond the record's; null without any. */
  extensions: string | null;
  /** `data.value` as the text of a number that Postgres reads; null where it is no number. */
  value: string | null;
};
