// Every fault × streamed or whole × with or without a fallback × a caller who stays or leaves: one model each, so that
// none meets the others' circuit.

import type { ModelsFile } from '../../support/gateway.ts';
import { ROWS, type Row } from './expected.ts';

export type Cell = {
  row: Row;
  way: 'whole' | 'streamed';
  backed: boolean;
  leaves: boolean;
  /** The model to ask for, and the mock's key of it. */
  name: string;
};

export const CELLS: readonly Cell[] = ROWS.flatMap((row) =>
  (['whole', 'streamed'] as const).flatMap((way) =>
    [false, true].flatMap((backed) =>
      [false, true].map((leaves) => ({
        row,
        way,
        backed,
        leaves,
        // A plus separates options of the mock.
        name: [
          row.fault.replaceAll('+', ','),
          way,
          backed ? 'backed' : 'alone',
          leaves ? 'leaves' : 'stays',
        ].join('/'),
      })),
    ),
  ),
);

export const rescueOf = (cell: Cell): string => `rescue/${cell.name}`;

/** Of requests whose caller leaves: whatever is still asked afterwards is asked within them. */
export const TIMEOUTS_MS = { connect: 4000, first_byte: 5000, idle: 5000, total: 40_000 };

/** Longer than any pause of a busy machine: what answers at all is answered in time. */
const PATIENT_MS = { connect: 60_000, first_byte: 60_000, idle: 60_000, total: 110_000 };

/** By the fault that waits for one of them. */
const IMPATIENT_MS: Readonly<Record<string, typeof PATIENT_MS>> = {
  hang: { ...PATIENT_MS, first_byte: TIMEOUTS_MS.first_byte },
  'hang-mid': { ...PATIENT_MS, idle: TIMEOUTS_MS.idle },
};

/** The upstream of a cell: they differ in their time-outs alone. */
function upstreamOf({ row: { fault }, leaves }: Cell): string {
  if (fault === 'refused') return 'closed';
  if (leaves) return 'left';
  return Object.hasOwn(IMPATIENT_MS, fault) ? fault : 'mock';
}

/** There is no listener. */
const CLOSED = 'http://127.0.0.1:1/v1';

export function modelsFile(mockUrl: string): ModelsFile {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the service puts the variable in.
  const common = { base_url: `${mockUrl}/v1`, api_key: '${UPSTREAM_KEY}', retries: 1 };
  const upstream = (timeouts: typeof PATIENT_MS) => ({ ...common, timeout_ms: timeouts });
  const target = (upstream: string, model: string): object[] => [{ upstream, model }];
  const models = CELLS.flatMap((cell): [string, Record<string, unknown>][] => {
    const name = upstreamOf(cell);
    const asked = name === 'closed' ? cell.name : `${cell.row.fault}+key=${cell.name}`;
    const targets = target(name, asked);
    if (!cell.backed) return [[cell.name, { targets }]];
    return [
      [cell.name, { targets, fallbacks: [rescueOf(cell)] }],
      [rescueOf(cell), { targets: target('mock', `ok+key=${rescueOf(cell)}`) }],
    ];
  });
  return {
    upstreams: {
      mock: upstream(PATIENT_MS),
      left: upstream(TIMEOUTS_MS),
      closed: { ...upstream(PATIENT_MS), base_url: CLOSED },
      ...Object.fromEntries(
        Object.entries(IMPATIENT_MS).map(([fault, timeouts]) => [fault, upstream(timeouts)]),
      ),
    },
    models: { ok: { targets: target('mock', 'ok') }, ...Object.fromEntries(models) },
  };
}
