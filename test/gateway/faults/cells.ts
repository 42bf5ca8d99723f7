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
        ...{ row, way, backed, leaves },
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

export const TIMEOUTS_MS = { connect: 4000, first_byte: 5000, idle: 5000, total: 40_000 };

/** Nobody listens there. */
const CLOSED = 'http://127.0.0.1:1/v1';

export function modelsFile(mockUrl: string): ModelsFile {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the service puts the variable in.
  const common = { api_key: '${UPSTREAM_KEY}', timeout_ms: TIMEOUTS_MS };
  const target = (upstream: string, model: string): object[] => [{ upstream, model }];
  const models = CELLS.flatMap((cell): [string, Record<string, unknown>][] => {
    const { fault } = cell.row;
    const targets =
      fault === 'refused' ? target('closed', cell.name) : target('mock', `${fault}+key=${cell.name}`);
    if (!cell.backed) return [[cell.name, { targets }]];
    return [
      [cell.name, { targets, fallbacks: [rescueOf(cell)] }],
      [rescueOf(cell), { targets: target('mock', `ok+key=${rescueOf(cell)}`) }],
    ];
  });
  return {
    upstreams: {
      mock: { base_url: `${mockUrl}/v1`, retries: 1, ...common },
      closed: { base_url: CLOSED, retries: 1, ...common },
    },
    models: { ok: { targets: target('mock', 'ok') }, ...Object.fromEntries(models) },
  };
}
