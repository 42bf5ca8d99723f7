// Whether the server syncs before it acknowledges, which clients cannot see. It is read from the server's monitoring
// page, or from a service of the system account if that is shared with ours.

import { type NatsConnection, RequestStrategy } from 'nats';
import { parseJson } from '../../../core/json.ts';
import type { Durability } from '../event-buffer.ts';

const MONITOR_PORT = 8222;
const TIMEOUT_MS = 1000;
const SYSTEM_SUBJECT = '$SYS.REQ.SERVER.PING.VARZ';
const SYSTEM_TIMEOUT_MS = 500;
/** Servers of a cluster answer one after another. */
const SYSTEM_JITTER_MS = 150;

const MEND = 'set jetstream { sync_interval: always } in the configuration of nats-server';
const NANOSECONDS = 1e9;

/** The part of a server's monitoring page that is used here. */
type Page = {
  server_id?: string;
  cluster?: { name?: string };
  jetstream?: { config?: { sync_always?: boolean; sync_interval?: number } };
};

/**
 * Of the servers that can be asked, the worst. One that can't be asked, or whose page is another server's, counts as
 * one that does not sync.
 */
export async function readDurability(
  connection: NatsConnection,
  { monitorUrl, url }: { monitorUrl: string | undefined; url: string },
): Promise<Durability> {
  const pages = monitorUrl === undefined ? await readUsual(connection, url) : [await readPage(monitorUrl)];
  const read = pages.every(hasJetStream) ? pages : (await askSystem(connection)).filter(hasJetStream);
  const lazy = [...pages, ...read]
    .filter(hasJetStream)
    .find(({ jetstream }) => !jetstream.config.sync_always);
  if (lazy !== undefined) {
    const { sync_interval: interval } = lazy.jetstream.config;
    const since = interval === undefined ? '2 minutes by default' : `every ${interval / NANOSECONDS} seconds`;
    return { synced: false, warning: `NATS acknowledges before it syncs: ${toLoss(since)}; ${MEND}` };
  }
  if (read.length > 0) return { synced: true };
  return {
    synced: false,
    warning:
      `NATS may acknowledge before it syncs: ${toLoss('2 minutes by default')}; whether it does could not be seen: ` +
      `open its monitoring port (http: ${MONITOR_PORT}) or set NATS_MONITOR_URL, and ${MEND}`,
  };
}

const toLoss = (since: string): string =>
  `when its machine loses power, events that were acknowledged since the last sync (${since}) are lost`;

type WithJetStream = Page & { jetstream: { config: { sync_always?: boolean; sync_interval?: number } } };

const hasJetStream = (page: Page | undefined): page is WithJetStream => page?.jetstream?.config !== undefined;

/** At the usual port of each host; something else may listen there. */
async function readUsual(connection: NatsConnection, url: string): Promise<(Page | undefined)[]> {
  const hosts = new Set(url.split(',').map((each) => new URL(each.trim()).hostname));
  const pages = await Promise.all([...hosts].map((host) => readPage(`http://${host}:${MONITOR_PORT}`)));
  const { server_id: id, cluster } = connection.info ?? {};
  const isOurs = (page: Page): boolean =>
    page.server_id === id || (cluster !== undefined && page.cluster?.name === cluster);
  return pages.map((page) => (page !== undefined && isOurs(page) ? page : undefined));
}

async function readPage(monitor: string): Promise<Page | undefined> {
  try {
    const response = await fetch(`${monitor}/varz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return toPage(await response.text());
  } catch {
    return undefined;
  }
}

async function askSystem(connection: NatsConnection): Promise<(Page | undefined)[]> {
  const pages: (Page | undefined)[] = [];
  try {
    const answers = await connection.requestMany(SYSTEM_SUBJECT, '', {
      strategy: RequestStrategy.JitterTimer,
      maxWait: SYSTEM_TIMEOUT_MS,
      jitter: SYSTEM_JITTER_MS,
    });
    for await (const answer of answers)
      pages.push((toPage(answer.string()) as { data?: Page } | undefined)?.data);
  } catch {
    // Most accounts may not ask.
  }
  return pages;
}

function toPage(text: string): Page | undefined {
  const page = parseJson(text);
  return typeof page === 'object' && page !== null ? page : undefined;
}
