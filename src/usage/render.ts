// Stored events and sums as JSON text, and the answer that holds it. `data` is inserted as it is stored, so that it keeps every digit.

import type { MetricPage } from './operations/retrieve.ts';
import type { Summary } from './operations/summarise.ts';
import type { StoredEvent } from './store/reader.ts';

/** `2026-01-31 10:00:00` → `2026-01-31T10:00:00.000`: at least milliseconds, and no zone. */
function renderTime(text: string): string {
  const time = text.replace(' ', 'T');
  const point = time.indexOf('.');
  return point === -1 ? `${time}.000` : time.padEnd(point + 4, '0');
}

function renderEvent(workspaceId: string, event: StoredEvent): string {
  const createdAt = renderTime(event.created_at);
  const { extensions } = event;
  return (
    `{"specversion":"1.0","type":${JSON.stringify(event.type)},"event_id":${JSON.stringify(event.event_id)},` +
    `"time":"${renderTime(event.time)}","source":${JSON.stringify(event.source)},` +
    `"subject":${JSON.stringify(event.subject)},"data":${event.data},"id":"${event.id}",` +
    `"workspace_id":${JSON.stringify(workspaceId)},"created_at":"${createdAt}","updated_at":"${createdAt}"` +
    `${extensions ? `,${extensions.slice(1, -1)}` : ''}}`
  );
}

export function renderPage(workspaceId: string, page: MetricPage): string {
  const rest = JSON.stringify({
    total: page.total,
    current_page: page.currentPage,
    current_page_backwards: page.currentPageBackwards,
    previous_page: page.previousPage,
    next_page: page.nextPage,
  });
  return `{"items":${renderEvents(workspaceId, page.events)},${rest.slice(1)}`;
}

/** Events as the JSON text of a list. */
export const renderEvents = (workspaceId: string, events: readonly StoredEvent[]): string =>
  `[${events.map((event) => renderEvent(workspaceId, event)).join(',')}]`;

export const renderSummary = (groupBy: string, { rows, total, next }: Summary): object => ({
  group_by: groupBy,
  items: rows.map(({ key, events, value }) => ({ key, events, value: JSON.rawJSON(value) })),
  total: { events: total.events, value: JSON.rawJSON(total.value) },
  next_page: next === undefined ? null : Buffer.from(next).toString('base64url'),
});

/** An answer of JSON text that is rendered already. */
export const jsonText = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'application/json;charset=utf-8' } });
