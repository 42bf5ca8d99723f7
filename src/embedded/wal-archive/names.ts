// The names of files of the write-ahead log, and the keys of the archive's objects.

/** initdb's default, which the cluster is made with. */
export const SEGMENT_BYTES = 16 * 1024 * 1024;
const SEGMENTS_PER_LOG = 2 ** 32 / SEGMENT_BYTES;

const SEGMENT = /^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})$/;
/** Segments, the beginnings of segments that a timeline left, histories of timelines, and marks of base backups. */
const ARCHIVED = /^([0-9A-F]{8}\.history|[0-9A-F]{24}(\.partial|\.[0-9A-F]{8}\.backup)?)$/;

/** `number` counts segments from the beginning of the log, on all timelines alike. */
export type Segment = { timeline: number; number: number };

const hex = (value: number): string => value.toString(16).toUpperCase().padStart(8, '0');

/** Undefined for other files. */
export function parseSegment(name: string): Segment | undefined {
  const [, timeline, log, within] = SEGMENT.exec(name) ?? [];
  if (timeline === undefined || log === undefined || within === undefined) return undefined;
  const number = Number.parseInt(log, 16) * SEGMENTS_PER_LOG + Number.parseInt(within, 16);
  return { timeline: Number.parseInt(timeline, 16), number };
}

export const segmentName = ({ timeline, number }: Segment): string =>
  `${hex(timeline)}${hex(Math.floor(number / SEGMENTS_PER_LOG))}${hex(number % SEGMENTS_PER_LOG)}`;

/** Whether Postgres hands files of such a name to its archive. */
export const isArchived = (name: string): boolean => ARCHIVED.test(name);

export const historyName = (timeline: number): string => `${hex(timeline)}.history`;

/** A position such as `1/6B000028`, in bytes. */
export function parsePosition(text: string): bigint {
  const [high = '', low = ''] = text.trim().split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}

/** The segment that holds the byte at the position. */
export const segmentAt = (position: bigint): number => Number(position / BigInt(SEGMENT_BYTES));

export type Switch = { timeline: number; position: bigint };

/** The timelines that a timeline comes from, the oldest first, each with the position at which it was left. */
export const parseHistory = (text: string): Switch[] =>
  text.split('\n').flatMap((line) => {
    const [, timeline, position] = /^(\d+)\s+([0-9A-F]+\/[0-9A-F]+)/.exec(line) ?? [];
    if (timeline === undefined || position === undefined) return [];
    return [{ timeline: Number(timeline), position: parsePosition(position) }];
  });

/** A time as a part of a key: to the second. */
export const stampOf = (time: Date): string => time.toISOString().replaceAll(/[-:]|\.\d+/g, '');

/** Keys begin with the identifier of the cluster: several may archive into one bucket. */
export const keysOf = (cluster: string) => ({
  logs: `${cluster}/wal/`,
  log: (name: string): string => `${cluster}/wal/${name}.zst`,
  manifests: `${cluster}/bases/`,
  manifest: (base: string): string => `${cluster}/bases/${base}.json`,
  parts: `${cluster}/base/`,
  partsOf: (base: string): string => `${cluster}/base/${base}/`,
  part: (base: string, index: number): string =>
    `${cluster}/base/${base}/${String(index).padStart(6, '0')}.tar.zst`,
  timelines: `${cluster}/timelines/`,
  timeline: (timeline: number, beganAt: Date): string =>
    `${cluster}/timelines/${stampOf(beganAt)}-${hex(timeline)}.json`,
});
