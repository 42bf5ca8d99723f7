import { counter, gauge, type Metric } from '../../http/metrics.ts';
import type { ReadinessCheck } from '../../http/readiness.ts';
import type { GraphSearch } from './graphs/engine.ts';
import type { Scanner } from './scanner.ts';
import type { SearchOutcome } from './search.ts';
import type { Spaces } from './spaces.ts';

const OUTCOMES = ['found', 'none', 'loading', 'no_room', 'limited', 'failed'] as const;
const GRAPH_SEARCHES = ['graph', 'exact'] as const;

type Parts = {
  scanner: Pick<Scanner, 'metrics'>;
  spaces: Pick<Spaces, 'metrics'>;
  searches: ReadonlyMap<SearchOutcome, number>;
  graphSearches: ReadonlyMap<GraphSearch, number>;
};

export function vectorsCheck({ scanner, spaces }: Pick<Parts, 'scanner' | 'spaces'>): ReadinessCheck {
  return {
    name: 'vectors',
    essential: false,
    across: { workspaces: 'largest', passages: 'sum', bytes: 'sum', without_room: 'largest' },
    check: async () => {
      const { loaded: workspaces, withoutRoom } = spaces.metrics();
      const { vectors: passages, bytes } = scanner.metrics();
      if (withoutRoom === 0) return { state: 'ready', workspaces, passages, bytes };
      const detail =
        'workspaces are searched by words alone: VECTORS_MEMORY_BYTES_MAX leaves no room for them';
      return { state: 'degraded', detail, workspaces, passages, bytes, without_room: withoutRoom };
    },
  };
}

export function vectorsMetrics({ scanner, searches, graphSearches }: Omit<Parts, 'spaces'>): Metric[] {
  return [
    gauge(
      'atrium_vectors_memory_bytes',
      'Memory in which vectors are searched.',
      () => scanner.metrics().bytes,
    ),
    gauge('atrium_vectors_passages', 'Passages whose vectors are in it.', () => scanner.metrics().vectors),
    counter('atrium_vectors_searches_total', 'Searches by vectors, by how they ended.', () =>
      OUTCOMES.map((outcome) => ({ labels: { outcome }, value: searches.get(outcome) ?? 0 })),
    ),
    counter(
      'atrium_vectors_graph_searches_total',
      'Searches of vectors by pgvector: by its index, or comparing all.',
      () => GRAPH_SEARCHES.map((how) => ({ labels: { how }, value: graphSearches.get(how) ?? 0 })),
    ),
    counter('atrium_vectors_scans_total', 'Scans of vectors.', () => scanner.metrics().scans),
    counter(
      'atrium_vectors_scan_seconds_total',
      'Time of scans; several may run together.',
      () => scanner.metrics().scanMs / 1000,
    ),
  ];
}
