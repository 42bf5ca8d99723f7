// What a plan says of the parts and of each fault.

export type PlannedParts = {
  processes: 1 | 2 | 3;
  database: 'embedded' | 'server';
  buffer: 'journal' | 'nats';
  store: 'embedded' | 'minio' | 'versitygw';
  /** Where the data folder lies: on one that can be filled, or on one that fails, waits, hangs and loses its power. */
  disk: 'plain' | 'small' | 'faulty';
  /** After the load the data folder is copied, worked with, and the older copy put in its place. */
  olderCopy: boolean;
  /** The service's clock can be stepped; those of other servers stay. */
  steppedClock: boolean;
  /** So can that of a database server. */
  steppedDatabaseClock: boolean;
};

export type PlannedFault<Kind extends string = string> = {
  kind: Kind;
  /** What it strikes: `service`, `database up`. */
  target: string;
  /** From the begin of the load. */
  atMs: number;
  forMs: number;
  /** Chance for whatever the kind leaves open, from 0 to 1. */
  chance: number;
};

/** The parts that this machine has beside the embedded ones. */
export type Available = {
  nats: boolean;
  minio: boolean;
  versitygw: boolean;
  smallDisk: boolean;
  faultyDisk: boolean;
  clock: boolean;
};
