// What the table of faults is about: each backing service and the disk, each fault, each area under load. Cells that make no
// sense have a reason in place of figures.

export const SERVICES = {
  postgres: 'Postgres',
  store: 'the object store',
  meilisearch: 'Meilisearch',
  nats: 'NATS',
  upstream: 'the upstream of models',
  provider: 'the identity provider',
  disk: 'the disk of the data folder',
} as const;
export type Service = keyof typeof SERVICES;

export const FAULTS = {
  'down-at-start': 'is down when the service starts',
  killed: 'is killed, and started again',
  stopped: 'hangs (SIGSTOP)',
  slow: 'answers 2 s later',
  refuses: 'refuses every connection',
  resets: 'resets connections amid answers',
  full: 'is full',
  empty: 'comes back empty',
} as const;
export type Fault = keyof typeof FAULTS;

export const AREAS = {
  documents: 'documents',
  search: 'search',
  gateway: 'models',
  chat: 'conversations',
  bots: 'bots',
  events: 'usage events',
  compute: 'compute',
  portal: 'portal',
  knowledge: 'knowledge',
} as const;
export type Area = keyof typeof AREAS;

export type CellName = `${Service} ${Fault}`;

/** Cells that make no sense, with the reason. */
export const LEFT_OUT: Partial<Record<CellName, string>> = {
  'postgres empty': 'a database without its tables is a new installation: [restore a backup](backup.md)',
  'upstream empty': 'it keeps nothing for the service',
  'provider full': 'the service stores nothing there',
  'provider empty': 'the one of the test keeps its sessions in memory, so it is empty after each kill',
  'disk resets': 'a disk has no connections',
  'disk empty': 'a data folder without its files is a new installation: [restore a backup](backup.md)',
};

/** Where a fault of a service is another thing than its words say. */
export const MEANS: Partial<Record<CellName, string>> = {
  'upstream resets': 'breaks off amid its answer',
  'upstream full': 'answers 429: its quota is used up',
  'disk down-at-start': 'is read-only when the service starts',
  'disk killed': 'loses its power with the machine, which is started again',
  'disk stopped': 'hangs: no write and no sync returns',
  'disk slow': 'takes 2 s for each sync',
  'disk refuses': 'fails each write and sync (EIO)',
};

/** What such a fault takes with it; the service cannot bring it back. */
export const TAKEN: Partial<Record<CellName, string>> = {
  'store empty': 'the files that the store has lost; every record is there',
  'nats empty': 'events that waited there and were not stored in Postgres yet',
};

export const namesOfCells = (): { service: Service; fault: Fault; name: CellName }[] =>
  (Object.keys(SERVICES) as Service[]).flatMap((service) =>
    (Object.keys(FAULTS) as Fault[]).map((fault) => ({
      service,
      fault,
      name: `${service} ${fault}` as const,
    })),
  );

/** Of the requests of an area that were under way while the fault lasted. */
export type AreaFigures = {
  answered: number;
  unavailable: number;
  failed: number;
  p50Ms: number;
  worstMs: number;
};

/** A cell that was run, or why it could not be on the machine of the run. */
export type CellResult =
  | { missing: string }
  | {
      areas: Record<Area, AreaFigures>;
      /** What was acknowledged and is not there, or is there twice: the broken invariants. */
      lost: string[];
      /** From the end of the fault until everything was answered again; undefined where that took too long. */
      wellMs: number | null;
      seconds: number;
    };

export type Results = Record<string, CellResult>;
