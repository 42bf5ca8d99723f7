import { useState } from 'preact/hooks';
import { Badge, type Tone } from './components/badge.tsx';
import { Button } from './components/button.tsx';
import { SelectField, TextField } from './components/field.tsx';
import { Form } from './components/form.tsx';
import { ErrorNotice, Notice } from './components/notice.tsx';
import { type Content, type Status, writeContent } from './content-data.ts';
import { type Action, useAction } from './resource.ts';
import { hasScope } from './state.ts';
import { formatNumber, language as ownLanguage, t } from './text.ts';

const TONES: Record<Status, Tone> = {
  pending: 'neutral',
  ready: 'good',
  empty: 'warn',
  unsupported: 'neutral',
  failed: 'bad',
};

type State = Pick<Content, 'status' | 'reading'>;

/** Off is a decision, and no fault of the file. */
const wordOf = ({ status, reading }: State): Status | 'off' =>
  status === 'unsupported' && reading === 'off' ? 'off' : status;

export const ContentBadge = ({ of: state }: { of: State }) => (
  <Badge tone={TONES[state.status]}>{t(`content.${wordOf(state)}`)}</Badge>
);

/** Whether the state is worth showing: a text is to come, or there is none where one may be expected. */
export const needsAttention = ({ status }: State): boolean =>
  status === 'pending' || status === 'failed' || status === 'empty';

const languageNames = new Intl.DisplayNames(ownLanguage, { type: 'language' });

/** “English · 20 pages · 41,283 characters · 38 passages”. */
export function figuresOf({ language, pages, characters, passages }: Content): string {
  const count = (name: 'pages' | 'characters' | 'passages', value: number): string =>
    t(`content.${name}`, { count: formatNumber(value) });
  return [
    ...(language === null ? [] : [languageNames.of(language) ?? language]),
    ...(pages === null ? [] : [count('pages', pages)]),
    count('characters', characters),
    count('passages', passages),
  ].join(' · ');
}

/** The state of a document's text with its reason, and what can be done about it. */
export function ContentState({
  id,
  content,
  onChanged,
}: {
  id: string;
  content: Content;
  onChanged(): void;
}) {
  const [giving, setGiving] = useState(false);
  const acting = useAction();
  const word = wordOf(content);
  const decide = (reading: 'on' | 'off'): void =>
    acting.run(() => writeContent(id, { reading }).then(onChanged));
  return (
    <div class="stack">
      <div class="row">
        <ContentBadge of={content} />
        {content.status === 'ready' ? <span class="soft">{figuresOf(content)}</span> : null}
        {content.given ? <Badge>{t('content.given')}</Badge> : null}
      </div>
      {word === 'ready' && content.reason === null ? null : (
        <Notice tone={content.status === 'failed' ? 'warn' : 'info'} title={t(`content.${word}.about`)}>
          {content.reason === null ? null : <p class="name lines">{content.reason}</p>}
          {word === 'pending' ? null : <p>{t(`content.${word}.advice`)}</p>}
        </Notice>
      )}
      <ErrorNotice error={acting.error} />
      {hasScope('documents:write') ? (
        <Actions
          of={content}
          acting={acting}
          decide={decide}
          give={() => setGiving(!giving)}
          giving={giving}
        />
      ) : null}
      {giving ? (
        <GiveForm
          id={id}
          content={content}
          onDone={() => {
            setGiving(false);
            onChanged();
          }}
        />
      ) : null}
    </div>
  );
}

function Actions({
  of: content,
  acting,
  decide,
  give,
  giving,
}: {
  of: Content;
  acting: Action;
  decide(reading: 'on' | 'off'): void;
  give(): void;
  giving: boolean;
}) {
  const isOff = content.reading === 'off';
  return (
    <div class="row">
      <Button busy={acting.busy} onClick={() => decide('on')}>
        {t(content.given ? 'content.read-file' : isOff ? 'content.read' : 'content.read-again')}
      </Button>
      <Button onClick={give} aria-expanded={giving}>
        {t('content.give')}
      </Button>
      {isOff ? null : (
        <Button look="plain danger" busy={acting.busy} onClick={() => decide('off')}>
          {t('content.switch-off')}
        </Button>
      )}
    </div>
  );
}

/** A text in place of the file's, such as one that was recognised in a scan. */
function GiveForm({ id, content, onDone }: { id: string; content: Content; onDone(): void }) {
  const [text, setText] = useState('');
  const [format, setFormat] = useState('text');
  const [language, setLanguage] = useState(content.language ?? '');
  const giving = useAction();
  const fields = giving.error?.fields ?? {};
  const give = async (): Promise<void> => {
    await writeContent(id, {
      text,
      format: format as 'text' | 'markdown',
      ...(language.trim() === '' ? {} : { language: language.trim() }),
    });
    onDone();
  };
  return (
    <Form acting={giving} run={give}>
      <TextField
        label={t('content.give.text')}
        hint={t('content.give.text.hint')}
        rows={10}
        value={text}
        onValue={setText}
        mistake={fields['text']}
        required
      />
      <div class="form-row">
        <SelectField
          label={t('content.give.format')}
          value={format}
          onValue={setFormat}
          choices={[
            { value: 'text', label: t('content.give.format.text') },
            { value: 'markdown', label: 'Markdown' },
          ]}
        />
        <TextField
          label={t('content.give.language')}
          hint={t('content.give.language.hint')}
          value={language}
          onValue={setLanguage}
          mistake={fields['language']}
        />
      </div>
      <div>
        <Button look="primary" type="submit" busy={giving.busy}>
          {t('content.give.save')}
        </Button>
      </div>
    </Form>
  );
}
