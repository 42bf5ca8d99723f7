import { useState } from 'preact/hooks';
import { answerOf, api } from './api.ts';
import { Button } from './components/button.tsx';
import { Dialog } from './components/dialog.tsx';
import { TextField } from './components/field.tsx';
import { Form, FormButtons } from './components/form.tsx';
import { Notice } from './components/notice.tsx';
import { newId } from './new-id.ts';
import { useAction } from './resource.ts';
import { workspace } from './state.ts';
import { t } from './text.ts';

/** The button that opens the form of a usage event, and the form. */
export function TestEvent() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        {t('events.test')}
      </Button>
      {open ? <TestEventDialog onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function TestEventDialog({ onClose }: { onClose(): void }) {
  const [type, setType] = useState('portal.test');
  const [subject, setSubject] = useState('');
  const [data, setData] = useState('{"value": 1}');
  const [sent, setSent] = useState<string>();
  const sending = useAction();
  const send = async (): Promise<void> => {
    const event = {
      specversion: '1.0' as const,
      id: newId(),
      source: 'portal',
      type,
      time: new Date().toISOString(),
      data: JSON.parse(data) as Record<string, unknown>,
      ...(subject === '' ? {} : { subject }),
    };
    await answerOf(
      api.POST('/admin/call/api/v1/workspace_metric/{workspace_id}/events', {
        params: { path: { workspace_id: workspace.value } },
        headers: { 'content-type': 'application/cloudevents+json' },
        body: event,
      }),
    );
    setSent(event.id);
  };
  return (
    <Dialog title={t('events.test')} onClose={onClose}>
      <Form acting={sending} run={send}>
        {sent === undefined ? null : <Notice tone="good" title={t('first.event.result', { id: sent })} />}
        <TextField label={t('usage.by.type')} value={type} onValue={setType} mono required autofocus />
        <TextField
          label={t('usage.by.subject')}
          hint={t('events.subject.hint')}
          value={subject}
          onValue={setSubject}
        />
        <TextField label={t('events.data')} rows={4} mono value={data} onValue={setData} required />
        <FormButtons
          submit={t('first.event.send')}
          busy={sending.busy}
          close={t('action.close')}
          onClose={onClose}
        />
      </Form>
    </Dialog>
  );
}
