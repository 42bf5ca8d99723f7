// What an archive can restore, and whether it is whole.

import { ServiceError } from '../../core/errors.ts';
import {
  type Archive,
  type BaseManifest,
  chainOf,
  isComplete,
  newestSegment,
  readTimeline,
  timelineAt,
} from './archives.ts';
import { keysOf, segmentName } from './names.ts';
import type { ArchiveStore } from './store.ts';

export type ArchiveReport = {
  cluster: string;
  base_backups: number;
  segments: number;
  bytes: number;
  timeline: number;
  /** Any moment between these can be restored, but for gaps. */
  earliest: string | null;
  latest: string | null;
  gaps: number;
};

const FAULTS_SHOWN = 10;

export type ArchiveVerification = { report: ArchiveReport; faults: string[] };

/** From the lists alone; with `reads`, every object is read and compared with its checksum. */
export async function examine(
  store: ArchiveStore,
  archive: Archive,
  { reads, step }: { reads: boolean; step(render: () => string): void },
): Promise<ArchiveVerification> {
  const faults: string[] = [];
  const timeline = timelineAt(archive, undefined);
  const gaps = await findGaps(store, archive);
  faults.push(...gaps);
  if (archive.bases.length === 0) faults.push('there is no base backup: nothing can be restored');
  if (reads) faults.push(...(await readAll(store, archive, step)));
  const newest = archive.logs.get(segmentName({ timeline, number: newestSegment(archive, timeline) }));
  return {
    report: {
      cluster: archive.id,
      base_backups: archive.bases.length,
      segments: archive.logs.size,
      bytes: archive.bytes,
      timeline,
      earliest: archive.bases[0]?.stopped_at ?? null,
      latest: newest?.toISOString() ?? null,
      gaps: gaps.length,
    },
    faults: faults.slice(0, FAULTS_SHOWN),
  };
}

/** The log from each base backup reaches the next one of its timeline, and that from the last one the end. */
async function findGaps(store: ArchiveStore, archive: Archive): Promise<string[]> {
  const gaps: string[] = [];
  const byTimeline = Map.groupBy(archive.bases, ({ timeline }) => timeline);
  for (const [timeline, bases] of byTimeline) {
    const way = await readTimeline(store, archive.id, timeline).catch((error: Error) => {
      if (error instanceof ServiceError) throw error;
      gaps.push(error.message);
      return { timeline, ancestors: [] };
    });
    const newest = newestSegment(archive, timeline);
    for (const [index, base] of bases.entries()) {
      const chain = chainOf(archive, base, way);
      if (!isComplete(base, chain)) gaps.push(`the log of the base backup ${base.id} is missing`);
      const end = chain.at(-1)?.number ?? -1;
      const next: BaseManifest | undefined = bases[index + 1];
      const begins = next === undefined ? newest : (chainOf(archive, next, way)[0]?.number ?? newest);
      if (end < begins)
        gaps.push(`log is missing after ${segmentName({ timeline, number: end })}${until(next)}`);
    }
  }
  return gaps;
}

const until = (next: BaseManifest | undefined): string =>
  next === undefined ? '' : `, until the base backup of ${next.stopped_at}`;

async function readAll(
  store: ArchiveStore,
  archive: Archive,
  step: (render: () => string) => void,
): Promise<string[]> {
  const keys = keysOf(archive.id);
  const wanted = [
    ...archive.bases.flatMap((base) =>
      Array.from({ length: base.parts }, (_, index) => keys.part(base.id, index)),
    ),
    ...[...archive.logs.keys()].map(keys.log),
  ];
  const faults: string[] = [];
  for (const [index, key] of wanted.entries()) {
    step(() => `${index} of ${wanted.length} objects read`);
    const fault = await store.read(key).then(
      (bytes) => (bytes === undefined ? `${key} is missing` : undefined),
      (error: Error) => {
        if (error instanceof ServiceError) throw error;
        return error.message;
      },
    );
    if (fault !== undefined) faults.push(fault);
  }
  return faults;
}
