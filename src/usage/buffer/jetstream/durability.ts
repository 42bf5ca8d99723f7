// Whether the server syncs before it acknowledges: clients are not told, its monitoring page tells.

import { parseJson } from '../../../core/json.ts';
import type { Durability } from '../event-buffer.ts';

const MONITOR_PORT = 8222;
const TIMEOUT_MS = 1000;

const MEND =
  'set jetstream { sync_interval: always } in the configuration of nats-server to sync before every acknowledgement';
const LOSS =
  'when its machine loses power, events that were acknowledged since the last sync (2 minutes by default) are lost';

/** The monitoring page of the server that was given, else of the first one's host at its usual port. */
export const monitorOf = (monitorUrl: string | undefined, url: string): string =>
  monitorUrl ?? `http://${new URL(url.split(',')[0] ?? url).hostname}:${MONITOR_PORT}`;

/** A server that can't be asked counts as one that does not sync. */
export async function readDurability(monitor: string): Promise<Durability> {
  let page: unknown;
  try {
    const response = await fetch(`${monitor}/varz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    page = parseJson(await response.text());
  } catch {
    return {
      synced: false,
      warning:
        `NATS may acknowledge before it syncs: ${LOSS}; whether it does could not be seen at ${monitor}/varz: ` +
        `open its monitoring port (http: ${MONITOR_PORT}) or set NATS_MONITOR_URL, and ${MEND}`,
    };
  }
  const { jetstream } = (page ?? {}) as { jetstream?: { config?: { sync_always?: boolean } } };
  if (jetstream?.config?.sync_always === true) return { synced: true };
  return { synced: false, warning: `NATS acknowledges before it syncs: ${LOSS}; ${MEND}` };
}
