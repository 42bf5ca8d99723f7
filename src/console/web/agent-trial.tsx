import { useMemo, useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { Button } from './components/button.tsx';
import { Citations } from './components/citations.tsx';
import { TextField } from './components/field.tsx';
import { Form } from './components/form.tsx';
import { newId } from './new-id.ts';
import { useAction } from './resource.ts';
import { hrefOf } from './router.ts';
import { workspace } from './state.ts';
import { t } from './text.ts';

type Answer = Schemas['ChatAnswer'];
type Turn = { question: string; answer: Answer };

/** The five keys of a session of this trial: each opened form begins a conversation of its own. */
const channelOf = (agent: string, trial: string) => ({
  workspace_id: workspace.value,
  channel: 'portal',
  channel_plugin: 'trial',
  channel_id: agent,
  channel_session_id: trial,
});

async function ask(agent: string, trial: string, message: string): Promise<Answer> {
  const { channel_session_id, ...path } = channelOf(agent, trial);
  await answerOf(
    api.POST(
      '/admin/call/api/v1/chat/messages/create-chat-session/{workspace_id}/{channel}/{channel_plugin}/{channel_id}',
      { params: { path }, body: { agi_id: agent, persona_id: 0, channel_session_id } },
    ),
  );
  return answerOf(
    api.POST(
      '/admin/call/api/v1/chat/messages/send-message/{workspace_id}/{channel}/{channel_plugin}/{channel_id}/bychannelsession/{channel_session_id}',
      {
        params: { path: { ...path, channel_session_id } },
        body: {
          message,
          channel_user_message_id: newId(),
          channel_assistant_message_id: newId(),
        },
      },
    ),
  ) as Promise<Answer>;
}

/** A conversation with a saved agent, like one of a channel: it is kept, and has events. */
export function AgentTrial({ id }: { id: string }) {
  const trial = useMemo(() => newId(), [id]);
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [question, setQuestion] = useState('');
  const asking = useAction();
  const send = async (): Promise<void> => {
    const answer = await ask(id, trial, question);
    setTurns([...turns, { question, answer }]);
    setQuestion('');
  };
  const last = turns.at(-1)?.answer;
  return (
    <section class="stack" aria-label={t('agents.try')}>
      <h3>{t('agents.try')}</h3>
      <div class="transcript" aria-live="polite">
        {turns.length === 0 ? <p class="soft">{t('agents.try.about')}</p> : null}
        {turns.map((turn) => (
          <div class="stack" key={turn.answer.message_id}>
            <div class="bubble user lines">{turn.question}</div>
            {turn.answer.answer.trim() === '' ? (
              <p class="mistake">{turn.answer.error_msg ?? t('playground.no-answer')}</p>
            ) : (
              <div class="bubble lines">{turn.answer.answer}</div>
            )}
            <Citations of={turn.answer.citations} />
          </div>
        ))}
      </div>
      <Form acting={asking} run={send}>
        <TextField
          label={t('playground.message')}
          hint={t('playground.message.hint')}
          enterSends
          rows={2}
          value={question}
          onValue={setQuestion}
          required
        />
        <div class="row">
          <Button type="submit" busy={asking.busy}>
            {t('playground.send')}
          </Button>
          {last === undefined ? null : (
            <a href={hrefOf('conversations', { session: String(last.chat_session_id) })}>
              {t('agents.try.open')}
            </a>
          )}
        </div>
      </Form>
    </section>
  );
}
