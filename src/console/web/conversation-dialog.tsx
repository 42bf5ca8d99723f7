import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { Badge } from './components/badge.tsx';
import { Button } from './components/button.tsx';
import { Citations } from './components/citations.tsx';
import { Dialog } from './components/dialog.tsx';
import { TextField } from './components/field.tsx';
import { Form } from './components/form.tsx';
import { ErrorNotice, Loading } from './components/notice.tsx';
import { Time } from './components/time.tsx';
import { ConversationEvents } from './conversation-events.tsx';
import { useAction, useResource } from './resource.ts';
import { hasScope, session, workspace } from './state.ts';
import { t } from './text.ts';

type Message = Schemas['ChatMessage'];

const REFRESH_MS = 3000;
/** A transcript is read in pages from its beginning; beyond this many messages, a person asks for more. */
const PAGE = 100;

const pathOf = (id: number) => ({ workspace_id: workspace.value, chat_session_id: id });

async function readTranscript(id: number, pages: number): Promise<{ messages: Message[]; more: boolean }> {
  const messages: Message[] = [];
  let cursor = '';
  for (let page = 0; page < pages; page++) {
    const { items, next_cursor } = await answerOf(
      api.GET('/admin/call/api/v1/chat/sessions/{workspace_id}/{chat_session_id}/messages', {
        params: { path: pathOf(id), query: { limit: PAGE, cursor } },
      }),
    );
    messages.push(...items);
    if (next_cursor === null) return { messages, more: false };
    cursor = next_cursor;
  }
  return { messages, more: true };
}

/** The messages of a conversation with their citations, and the field in which a person answers. */
export function ConversationDialog({ id, onClose }: { id: number; onClose(): void }) {
  const [pages, setPages] = useState(1);
  const transcript = useResource(() => readTranscript(id, pages), [id, pages], { everyMs: REFRESH_MS });
  return (
    <Dialog title={t('conversations.untitled', { id })} wide onClose={onClose}>
      <div class="form">
        <ErrorNotice error={transcript.error} />
        {transcript.data === undefined ? (
          transcript.loading && <Loading />
        ) : (
          <>
            <ol class="transcript" aria-live="polite">
              {transcript.data.messages.map((message) => (
                <MessageItem key={message.message_id} of={message} />
              ))}
            </ol>
            {transcript.data.more ? (
              <Button onClick={() => setPages(pages + 1)}>{t('conversations.more')}</Button>
            ) : null}
            {hasScope('admin') ? <ConversationEvents id={id} /> : null}
            <AnswerForm id={id} onSent={transcript.reload} />
          </>
        )}
      </div>
    </Dialog>
  );
}

const MessageItem = ({ of: message }: { of: Message }) => (
  <li class={`stack message ${message.role === 'user' ? 'user' : ''}`}>
    <div class="row small soft">
      <Badge tone={message.role === 'agent' ? 'good' : 'neutral'}>
        {t(`conversations.role.${message.role}`)}
      </Badge>
      {message.agent_id === null ? null : <span class="name">{message.agent_id}</span>}
      <Time at={message.created_at} />
      {message.feedback === null ? null : (
        <Badge tone={message.feedback.is_positive ? 'good' : 'bad'}>
          {t(message.feedback.is_positive ? 'conversations.liked' : 'conversations.disliked')}
        </Badge>
      )}
    </div>
    {message.message.trim() === '' ? null : (
      <div class={`bubble lines ${message.role === 'user' ? 'user' : ''}`}>{message.message}</div>
    )}
    {message.error_msg !== null ? (
      <p class="mistake small">{message.error_msg}</p>
    ) : message.message.trim() === '' ? (
      <p class="soft small">{t('playground.no-answer')}</p>
    ) : null}
    {message.feedback === null || message.feedback.feedback_text === '' ? null : (
      <p class="small name">“{message.feedback.feedback_text}”</p>
    )}
    <Citations of={message.citations} />
  </li>
);

/** A person answers in the name of the company: the message is theirs, not the model's. */
function AnswerForm({ id, onSent }: { id: number; onSent(): void }) {
  const [text, setText] = useState('');
  const sending = useAction();
  const send = async (): Promise<void> => {
    await answerOf(
      api.POST('/admin/call/api/v1/chat/sessions/{workspace_id}/{chat_session_id}/agent-messages', {
        params: { path: pathOf(id) },
        body: { message: text, agent_id: session.value?.user_email ?? '' },
      }),
    );
    setText('');
    onSent();
  };
  return (
    <Form acting={sending} run={send}>
      <TextField
        enterSends
        label={t('conversations.answer')}
        hint={`${t('conversations.answer.hint', { email: session.value?.user_email ?? '' })} ${t('playground.message.hint')}`}
        rows={3}
        value={text}
        onValue={setText}
        required
      />
      <div>
        <Button look="primary" type="submit" busy={sending.busy}>
          {t('playground.send')}
        </Button>
      </div>
    </Form>
  );
}
