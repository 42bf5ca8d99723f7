// The first success on an empty installation: each step is done in place, and shows its result.

import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { answerOf, api } from './api.ts';
import { Badge } from './components/badge.tsx';
import { Button } from './components/button.tsx';
import { ErrorNotice } from './components/notice.tsx';
import { Section } from './components/page.tsx';
import type { Overview } from './home-data.ts';
import { NewKeyDialog, ShownKeyDialog } from './key-dialogs.tsx';
import type { MessageName } from './messages.ts';
import { newId } from './new-id.ts';
import { useAction } from './resource.ts';
import { hasScope, isOwnWorkspace, workspace } from './state.ts';
import { t } from './text.ts';
import { upload } from './upload.ts';

type Step = 'key' | 'file' | 'model' | 'event';
type StepProps = { done: boolean; onDone(): void };

const isDone = (overview: Overview): Record<Step, boolean> => ({
  key: overview.keys > 1,
  file: overview.hasFile,
  model: overview.usage.total.requests > 0,
  // The service's own events, such as sign-ins, were not sent by a person.
  event: overview.sources?.items.some(({ key }) => key !== 'atrium') ?? true,
});

/** Hidden once everything was done, or where the workspace is another one. */
export function FirstSteps({ overview, onDone }: { overview: Overview; onDone(): void }) {
  const [began] = useState(isDone(overview));
  const done = isDone(overview);
  if (!isOwnWorkspace.value || Object.values(began).every(Boolean)) return null;
  return (
    <Section title={t('first.title')} aside={<span class="soft">{t('first.about')}</span>}>
      <ol class="steps">
        <KeyStep done={done.key} onDone={onDone} />
        {hasScope('documents:write') ? <FileStep done={done.file} onDone={onDone} /> : null}
        {hasScope('models') ? <ModelStep done={done.model} onDone={onDone} /> : null}
        {hasScope('metrics') ? <EventStep done={done.event} onDone={onDone} /> : null}
      </ol>
    </Section>
  );
}

/** A step is done as soon as it was done here: the sums count a call or an event a little later. */
const StepRow = ({
  step,
  done,
  result,
  children,
}: {
  step: Step;
  done: boolean;
  result?: ComponentChildren;
  children: ComponentChildren;
}) => (
  <li class="step">
    <div>
      <h3>{t(`first.${step}` as MessageName)}</h3>
      <p class="soft">{t(`first.${step}.about` as MessageName)}</p>
      {result === undefined ? null : <div role="status">{result}</div>}
    </div>
    <div class="row">
      {done ? <Badge tone="good">{t('first.done')}</Badge> : null}
      {children}
    </div>
  </li>
);

function KeyStep({ done, onDone }: StepProps) {
  const [open, setOpen] = useState(false);
  const [made, setMade] = useState<string>();
  return (
    <StepRow step="key" done={done}>
      <Button onClick={() => setOpen(true)}>{t('keys.create')}</Button>
      {open ? (
        <NewKeyDialog
          name={t('first.key.name')}
          onClose={() => setOpen(false)}
          onMade={(text) => {
            setOpen(false);
            setMade(text);
            onDone();
          }}
        />
      ) : null}
      {made === undefined ? null : <ShownKeyDialog text={made} onClose={() => setMade(undefined)} />}
    </StepRow>
  );
}

function FileStep({ done, onDone }: StepProps) {
  const input = useRef<HTMLInputElement>(null);
  const sending = useAction();
  const [stored, setStored] = useState<string>();
  const send = async (file: File): Promise<void> => {
    setStored((await upload(file, { workspace: workspace.value })).name);
    onDone();
  };
  return (
    <StepRow
      step="file"
      done={done}
      result={stored === undefined ? undefined : t('first.file.result', { name: stored })}
    >
      <input
        ref={input}
        type="file"
        hidden
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? [];
          if (file !== undefined) sending.run(() => send(file));
        }}
      />
      <Button busy={sending.busy} onClick={() => input.current?.click()}>
        {t('first.file.choose')}
      </Button>
      <ErrorNotice error={sending.error} />
    </StepRow>
  );
}

/** The first model of the catalogue that answers conversations. */
async function askModel(): Promise<string> {
  const { data } = await answerOf(api.GET('/admin/call/v1/models'));
  const model = data.find(({ endpoints }) => endpoints.includes('chat'))?.id ?? '';
  const messages = [{ role: 'user', content: t('first.model.question') }];
  const answer = await answerOf(api.POST('/admin/call/v1/chat/completions', { body: { model, messages } }));
  return `${model}: ${typeof answer === 'object' && 'choices' in answer ? (answer.choices[0]?.message.content ?? '') : ''}`;
}

function ModelStep({ done, onDone }: StepProps) {
  const asking = useAction();
  const [answer, setAnswer] = useState<string>();
  const ask = async (): Promise<void> => {
    setAnswer(await askModel());
    onDone();
  };
  return (
    <StepRow step="model" done={done || answer !== undefined} result={answer}>
      <Button busy={asking.busy} onClick={() => asking.run(ask)}>
        {t('first.model.ask')}
      </Button>
      <ErrorNotice error={asking.error} />
    </StepRow>
  );
}

function EventStep({ done, onDone }: StepProps) {
  const sending = useAction();
  const [sent, setSent] = useState<string>();
  const send = async (): Promise<void> => {
    const event = {
      specversion: '1.0' as const,
      id: newId(),
      source: 'portal',
      type: 'portal.test',
      time: new Date().toISOString(),
      data: { value: 1 },
    };
    await answerOf(
      api.POST('/admin/call/api/v1/workspace_metric/{workspace_id}/events', {
        params: { path: { workspace_id: workspace.value } },
        headers: { 'content-type': 'application/cloudevents+json' },
        body: event,
      }),
    );
    setSent(event.id);
    onDone();
  };
  return (
    <StepRow
      step="event"
      done={done || sent !== undefined}
      result={sent === undefined ? undefined : t('first.event.result', { id: sent })}
    >
      <Button busy={sending.busy} onClick={() => sending.run(send)}>
        {t('first.event.send')}
      </Button>
      <ErrorNotice error={sending.error} />
    </StepRow>
  );
}
