import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { Button } from './components/button.tsx';
import { TextField } from './components/field.tsx';
import { Form } from './components/form.tsx';
import { Notice } from './components/notice.tsx';
import { useAction } from './resource.ts';
import { workspace } from './state.ts';
import { t } from './text.ts';

type Tested = Schemas['BotTested'];

/** Sends a test event, which is handled like a real one, and shows the answer. */
export function BotTrial({ id, keyAlone }: { id: string; keyAlone: boolean }) {
  const [text, setText] = useState('');
  const [tested, setTested] = useState<Tested>();
  const sending = useAction();
  const send = async (): Promise<void> => {
    setTested(undefined);
    const path = { workspace_id: workspace.value, bot_id: id };
    setTested(
      await answerOf(
        api.POST('/admin/api/workspaces/{workspace_id}/bots/{bot_id}/test-events', {
          params: { path },
          body: { text },
        }),
      ),
    );
  };
  return (
    <Form acting={sending} run={send}>
      <h3>{t('bots.test')}</h3>
      <TextField
        label={t('playground.message')}
        hint={t(keyAlone ? 'bots.test.key' : 'bots.test.about')}
        value={text}
        onValue={setText}
        required
      />
      <div>
        <Button type="submit" busy={sending.busy}>
          {t('bots.send')}
        </Button>
      </div>
      <div role="status">{tested === undefined ? null : <Answered to={tested} />}</div>
    </Form>
  );
}

const Answered = ({ to: { status, answer, event } }: { to: Tested }) => (
  <div class="stack">
    {status === 200 ? (
      <div class="soft small">{t('bots.answered')}</div>
    ) : (
      <Notice tone="bad" title={t('bots.refused', { status: String(status) })}>
        {'detail' in answer ? String(answer.detail) : null}
      </Notice>
    )}
    <pre class="preview">{JSON.stringify(answer, null, 2)}</pre>
    <details>
      <summary>{t('bots.sent')}</summary>
      <pre class="preview">{JSON.stringify(event, null, 2)}</pre>
    </details>
  </div>
);
