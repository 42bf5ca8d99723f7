// Lists the archives of a bucket, and selects the objects that a restore to a moment needs.

import { parseJson } from '../../core/json.ts';
import {
  historyName,
  keysOf,
  parseHistory,
  parsePosition,
  parseSegment,
  type Segment,
  type Switch,
  segmentAt,
  segmentName,
} from './names.ts';
import type { ArchiveStore } from './store.ts';

/** Written last: without it there is no base backup. */
export type BaseManifest = {
  format: 'atrium-base-backup';
  format_version: 1;
  id: string;
  postgres: string;
  timeline: number;
  start: string;
  stop: string;
  started_at: string;
  stopped_at: string;
  files: number;
  bytes: number;
  parts: number;
  part_bytes: number;
};

export type Archive = {
  /** The identifier of the cluster. */
  id: string;
  /** The oldest first. */
  bases: BaseManifest[];
  /** The names of the files that are archived, with the time of their arrival. */
  logs: Map<string, Date>;
  bytes: number;
  /**
   * When services began on a timeline, the oldest first: at the first start on one that a restore began, and when the folder of another
   * one was taken up again. Before them it is the first timeline.
   */
  timelines: { timeline: number; began_at: string }[];
};

export type Timeline = { timeline: number; ancestors: Switch[] };

/** Reads the lists, and the manifests. */
export async function readArchives(store: ArchiveStore): Promise<Archive[]> {
  const listed = await store.list('');
  const ids = [...new Set(listed.map(({ key }) => key.split('/')[0] ?? ''))].filter((id) => /^\d+$/.test(id));
  return await Promise.all(ids.map((id) => readArchive(store, id, listed)));
}

type Listed = Awaited<ReturnType<ArchiveStore['list']>>;

export async function readArchive(store: ArchiveStore, id: string, listed: Listed): Promise<Archive> {
  const keys = keysOf(id);
  const under = (prefix: string): Listed => listed.filter(({ key }) => key.startsWith(prefix));
  const read = async <Value>({ key }: { key: string }): Promise<Value[]> => {
    const text = await store.readText(key);
    return text === undefined ? [] : [parseJson(text) as Value];
  };
  const bases = (await Promise.all(under(keys.manifests).map(read<BaseManifest>))).flat();
  const timelines = (await Promise.all(under(keys.timelines).map(read<Archive['timelines'][0]>))).flat();
  return {
    id,
    bases: bases.sort((a, b) => Date.parse(a.stopped_at) - Date.parse(b.stopped_at)),
    logs: new Map(
      under(keys.logs).map(({ key, lastModified }) => [nameOf(key.slice(keys.logs.length)), lastModified]),
    ),
    bytes: under(`${id}/`).reduce((sum, { size }) => sum + size, 0),
    timelines: timelines.sort((a, b) => Date.parse(a.began_at) - Date.parse(b.began_at)),
  };
}

const nameOf = (file: string): string => file.replace(/\.zst$/, '');

/** The timeline on which the service was at the moment; without one, the last that it was on. */
export const timelineAt = ({ timelines }: Archive, at: Date | undefined): number =>
  timelines.findLast(({ began_at }) => at === undefined || Date.parse(began_at) <= at.getTime())?.timeline ??
  1;

/** The last segment of a timeline that is archived. */
export const newestSegment = ({ logs }: Archive, timeline: number): number =>
  [...logs.keys()].reduce((newest, name) => {
    const segment = parseSegment(name);
    return segment?.timeline === timeline ? Math.max(newest, segment.number) : newest;
  }, -1);

export async function readTimeline(
  store: Pick<ArchiveStore, 'read'>,
  id: string,
  timeline: number,
): Promise<Timeline> {
  if (timeline === 1) return { timeline, ancestors: [] };
  const bytes = await store.read(keysOf(id).log(historyName(timeline)));
  if (bytes === undefined) throw new Error(`the archive lacks ${historyName(timeline)}`);
  return { timeline, ancestors: parseHistory(new TextDecoder().decode(bytes)) };
}

/** The newest base backup that ended before the moment, on the timeline or on one that it comes from. */
export const baseBefore = (
  { bases }: Archive,
  { timeline, ancestors }: Timeline,
  at: Date | undefined,
): BaseManifest | undefined =>
  bases.findLast((base) => {
    const left = ancestors.find((each) => each.timeline === base.timeline);
    const isOnWay =
      base.timeline === timeline || (left !== undefined && parsePosition(base.stop) <= left.position);
    return isOnWay && (at === undefined || Date.parse(base.stopped_at) <= at.getTime());
  });

/** The segments from the base backup on that are archived without a gap, along the timelines. */
export function chainOf({ logs }: Archive, base: BaseManifest, { timeline, ancestors }: Timeline): Segment[] {
  const chain: Segment[] = [];
  const from = ancestors.findIndex((each) => each.timeline === base.timeline);
  const path = [
    ...(from === -1 ? [] : ancestors.slice(from)).map((each) => ({
      timeline: each.timeline,
      last: segmentAt(each.position),
    })),
    { timeline, last: Number.POSITIVE_INFINITY },
  ];
  let number = segmentAt(parsePosition(base.start));
  for (const part of path) {
    // The segment in which a timeline was left is on both, and the later one is read.
    for (; number < part.last && logs.has(segmentName({ timeline: part.timeline, number })); number += 1)
      chain.push({ timeline: part.timeline, number });
    if (number < part.last) break;
  }
  return chain;
}

/** Whether everything that the base backup itself needs is there. */
export const isComplete = (base: BaseManifest, chain: readonly Segment[]): boolean =>
  (chain.at(-1)?.number ?? -1) >= segmentAt(parsePosition(base.stop) - 1n);
