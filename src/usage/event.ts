// A usage event as it is kept: what a CloudEvent says, checked once at the edge, and what storing adds to it.

/** Everything but the time of storage, which the database gives. */
export type UsageEvent = {
  /** Of the stored record; time-ordered, given at the edge so that an event that comes twice keeps it. */
  id: string;
  workspaceId: string;
  /** The sender's own; with the source it names the event. */
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
  /** `data.value` where it is a number, as Postgres reads one; null where it is none. */
  value: string | null;
};

/** The source of the service's own events, which no other sender may use. */
export const OWN_SOURCE = 'atrium';
