// Usage events as a client sends and reads them.

import { eventually } from '../../support/child.ts';
import { type Answer, bodyOf, type Caller, expectStatus } from './caller.ts';
import type { Setting } from './setting.ts';

export type MetricRecord = {
  id: string;
  event_id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  created_at: string;
  updated_at: string;
  workspace_id: string;
  specversion: string;
  data: Record<string, unknown>;
  [attribute: string]: unknown;
};

export type MetricPage = {
  items: MetricRecord[];
  total: number | null;
  current_page: string;
  current_page_backwards: string;
  previous_page: string | null;
  next_page: string | null;
};

export type CloudEventFields = Record<string, unknown>;
type Query = Record<string, string | number | boolean>;

export type Metrics = ReturnType<typeof createMetrics>;

export const BATCH = 'application/cloudevents-batch+json';
export const STRUCTURED = 'application/cloudevents+json';

/** What an event of the type `chat.create` says. */
export const CHAT_DATA = { value: '1', persona_id: 0, chat_session_id: 17 };

/** An event that is right, but for what is given. */
export const eventOf = (fields: CloudEventFields = {}): CloudEventFields => ({
  specversion: '1.0',
  id: crypto.randomUUID(),
  source: 'test',
  type: 'chat.create',
  data: CHAT_DATA,
  ...fields,
});

/** The metrics of a workspace to whoever sends the key. */
export function createMetrics(
  call: Caller,
  { workspace, key, since }: { workspace: string; key: string; since?: string },
) {
  const root = `/api/v1/workspace_metric/${workspace}`;
  const bytes = (body: unknown) =>
    new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
  const authorized = { authorization: key };

  const get = (name: string, query: Query = {}): Promise<Answer> =>
    call('GET', `${root}/${name}`, {
      query: { ...authorized, ...(since === undefined ? {} : { from_date: since }), ...query },
    });
  const post = (body: Uint8Array<ArrayBuffer>, headers: Record<string, string>): Promise<Answer> =>
    call('POST', `${root}/events`, { query: authorized, headers, body });

  const page = async (query: Query = {}): Promise<MetricPage> =>
    bodyOf<MetricPage>(await get('by_created_at', query), 200);
  /** Every event, page by page. */
  const all = async (query: Query = {}): Promise<MetricRecord[]> => {
    const items: MetricRecord[] = [];
    for (let cursor = ''; ; ) {
      const read = await page({ size: 100, ...query, cursor });
      items.push(...read.items);
      if (read.next_page === null) return items;
      cursor = read.next_page;
    }
  };
  /** Resolves with the events of the source once there are as many. */
  const stored = (source: string, count: number): Promise<MetricRecord[]> =>
    eventually(`${count} events of ${source}`, async () => {
      const found = (await all()).filter((item) => item.source === source);
      return found.length >= count && found;
    });
  const send = (event: unknown, mediaType = STRUCTURED): Promise<Answer> =>
    post(bytes(event), { 'content-type': mediaType });
  const sendAll = (events: unknown): Promise<Answer> => post(bytes(events), { 'content-type': BATCH });
  return { root, get, post, send, sendAll, page, all, stored };
}

/** Metrics of a workspace of their own; `everything` also has the events that came before they were asked for. */
export type FreshMetrics = Metrics & { workspace: string; key: string; everything: Metrics };

/** Makes metrics that no other test uses. */
export function createFreshMetrics({ call, adminKey }: Pick<Setting, 'call' | 'adminKey'>) {
  return async (): Promise<FreshMetrics> => {
    const workspace = `metrics-${crypto.randomUUID().slice(0, 13)}`;
    const make = (path: string, json: object) =>
      call('POST', `/admin/api/workspaces${path}`, { key: adminKey, json });
    expectStatus(await make('', { id: workspace }), 201);
    const wanted = { name: 'test', scopes: ['metrics'], user_email: 'meter@example.com' };
    const { key } = bodyOf<{ key: string }>(await make(`/${workspace}/keys`, wanted), 201);
    // The key's person was added for it, which is an event of its own: what is asked for begins behind it.
    const [added] = await createMetrics(call, { workspace, key }).stored('atrium', 1);
    const since = new Date(Date.parse(`${added?.created_at}Z`) + 1).toISOString().slice(0, -1);
    const own = createMetrics(call, { workspace, key, since });
    return { ...own, workspace, key, everything: createMetrics(call, { workspace, key }) };
  };
}

export const freshSource = (): string => `source-${crypto.randomUUID()}`;

/** One mistake of a 422. */
export type Entry = { type: string; loc: (string | number)[]; msg: string };
