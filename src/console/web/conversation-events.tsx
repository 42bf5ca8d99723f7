import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { Button } from './components/button.tsx';
import { ErrorNotice, Loading } from './components/notice.tsx';
import { Time } from './components/time.tsx';
import { useResource } from './resource.ts';
import { workspace } from './state.ts';
import { t } from './text.ts';

type Event = Schemas['MetricEvent'];

/** The first pages of a conversation's events, in order of time; beyond, a person asks for more. */
async function readEvents(id: number, pages: number): Promise<{ events: Event[]; more: boolean }> {
  const events = new Map<string, Event>();
  let cursor: string | null = '';
  for (let page = 0; page < pages && cursor !== null; page++) {
    const next: { items: Event[]; next_cursor: string | null } = await answerOf(
      api.GET('/admin/api/workspaces/{workspace_id}/chat-sessions/{chat_session_id}/events', {
        params: {
          path: { workspace_id: workspace.value, chat_session_id: id },
          query: { limit: 100, cursor },
        },
      }),
    );
    for (const event of next.items) events.set(event.id, event);
    cursor = next.next_cursor;
  }
  const inOrder = [...events.values()].sort((one, other) => (one.time < other.time ? -1 : 1));
  return { events: inOrder, more: cursor !== null };
}

/** What the service has recorded of a conversation, read when it is opened. */
export function ConversationEvents({ id }: { id: number }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t('conversations.events')}</summary>
      {isOpen ? <EventList id={id} /> : null}
    </details>
  );
}

function EventList({ id }: { id: number }) {
  const [pages, setPages] = useState(1);
  const read = useResource(() => readEvents(id, pages), [id, pages]);
  return (
    <>
      <ErrorNotice error={read.error} />
      {read.data === undefined && read.loading ? <Loading /> : null}
      <ul class="stack small">
        {read.data?.events.map((event) => (
          <li key={event.id}>
            <Time at={`${event.time}Z`} /> <code>{event.type}</code>{' '}
            <span class="soft name">{event.subject}</span>
          </li>
        ))}
      </ul>
      {read.data?.more ? (
        <Button onClick={() => setPages(pages + 1)}>{t('conversations.events.more')}</Button>
      ) : null}
    </>
  );
}
