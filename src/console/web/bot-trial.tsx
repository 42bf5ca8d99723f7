import { useState } from 'preact/hooks';
import { answerOf, api } from './api.ts';
import { Button } from './components/button.tsx';
import { TextField } from './components/field.tsx';
import { Form } from './components/form.tsx';
import { useAction } from './resource.ts';
import { session, workspace } from './state.ts';
import { t } from './text.ts';

/** A message event as the chat platform sends it, from the person who is signed in. */
function toEvent(id: string, text: string) {
  const eventTime = new Date().toISOString();
  const email = session.value?.user_email ?? '';
  const user = {
    name: 'users/portal',
    displayName: email,
    avatarUrl: '',
    email,
    type: 'HUMAN',
    domainId: 'portal',
  };
  const space = {
    name: `spaces/portal-${id}`,
    type: 'DM',
    singleUserBotDm: true,
    spaceThreadingState: 'UNTHREADED_MESSAGES',
    spaceType: 'DIRECT_MESSAGE',
    spaceHistoryState: 'HISTORY_ON',
    spaceUri: location.origin,
  };
  const message = {
    name: `${space.name}/messages/${crypto.randomUUID()}`,
    sender: user,
    createTime: eventTime,
    text,
    argumentText: text,
    thread: { name: `${space.name}/threads/portal` },
    space,
  };
  return {
    type: 'MESSAGE',
    eventTime,
    message,
    user,
    space,
    configCompleteRedirectUrl: location.origin,
    common: {},
  };
}

/** Sends a test event, with the rights of this sign-in instead of the platform's signature, and shows what is answered. */
export function BotTrial({ id }: { id: string }) {
  const [text, setText] = useState('');
  const [answer, setAnswer] = useState<string>();
  const sending = useAction();
  const send = async (): Promise<void> => {
    const answered = await answerOf(
      api.POST('/admin/call/chatapp/{workspace_id}/{bot_id}', {
        params: { path: { workspace_id: workspace.value, bot_id: id } },
        body: toEvent(id, text),
      }),
    );
    setAnswer(JSON.stringify(answered, null, 2));
  };
  return (
    <Form acting={sending} run={send}>
      <h3>{t('bots.test')}</h3>
      <TextField label={t('playground.message')} value={text} onValue={setText} required />
      <div>
        <Button type="submit" busy={sending.busy}>
          {t('bots.send')}
        </Button>
      </div>
      {answer === undefined ? null : (
        <div role="status">
          <div class="soft small">{t('bots.answered')}</div>
          <pre class="preview">{answer}</pre>
        </div>
      )}
    </Form>
  );
}
