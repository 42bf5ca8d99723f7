import { counter, gauge, type Metric } from '../../http/metrics.ts';
import type { ReadinessCheck } from '../../http/readiness.ts';
import type { SearchOutcome } from './search.ts';
import type { createSpaces } from './spaces.ts';

const OUTCOMES = ['found', 'none', 'loading', 'no_room', 'limited', 'failed'] as const;

type Spaces = ReturnType<typeof createSpaces>;

export function vectorsCheck(spaces: Spaces): ReadinessCheck {
  return {
    name: 'vectors',
    essential: false,
    across: { workspaces: 'largest', passages: 'sum', bytes: 'sum', without_room: 'largest' },
    check: async () => {
      const { loaded: workspaces, withoutRoom, vectors: passages, bytes } = spaces.metrics();
      if (withoutRoom === 0) return { state: 'ready', workspaces, passages, bytes };
      const detail =
        'workspaces are searched by words alone: VECTORS_MEMORY_BYTES_MAX leaves no room for them';
      return { state: 'degraded', detail, workspaces, passages, bytes, without_room: withoutRoom };
    },
  };
}

export function vectorsMetrics({
  spaces,
  searches,
}: {
  spaces: Spaces;
  searches: ReadonlyMap<SearchOutcome, number>;
}): Metric[] {
  return [
    gauge(
      'atrium_vectors_memory_bytes',
      'Memory in which vectors are searched.',
      () => spaces.metrics().bytes,
    ),
    gauge('atrium_vectors_passages', 'Passages whose vectors are in it.', () => spaces.metrics().vectors),
    counter('atrium_vectors_searches_total', 'Searches by vectors, by how they ended.', () =>
      OUTCOMES.map((outcome) => ({ labels: { outcome }, value: searches.get(outcome) ?? 0 })),
    ),
  ];
}
