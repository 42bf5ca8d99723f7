import { useEffect, useState } from 'preact/hooks';
import { Badge } from './components/badge.tsx';
import { Button } from './components/button.tsx';
import { Dialog } from './components/dialog.tsx';
import { SelectField, TextField } from './components/field.tsx';
import { Form } from './components/form.tsx';
import { ErrorNotice, Loading, Notice } from './components/notice.tsx';
import { Tabs } from './components/page.tsx';
import { Time } from './components/time.tsx';
import { type Content, readContent } from './content-data.ts';
import { ContentBadge, ContentState, figuresOf } from './content-state.tsx';
import { PassageList, TextView } from './content-view.tsx';
import { DocumentHistory } from './document-history.tsx';
import { type Document, patchDocument, readDocument, urlOf } from './library-data.ts';
import { opensInBrowser, Preview } from './preview.tsx';
import { useAction, useResource } from './resource.ts';
import { hrefWith, navigate, query } from './router.ts';
import { hasScope } from './state.ts';
import { toWords } from './tag-dialog.tsx';
import { formatBytes, t } from './text.ts';

type Props = { id: string; onClose(): void; onChanged(): void };

const VIEWS = ['document', 'text', 'passages', 'history'] as const;
type View = (typeof VIEWS)[number];
const readView = (): View => VIEWS.find((view) => view === query.value.get('show')) ?? 'document';

/** No place in the text, and no page of passages or of the history. */
const NO_PLACE = {
  at: undefined,
  from: undefined,
  passage: undefined,
  cited: undefined,
  quote: undefined,
  before: undefined,
};

/** Closes the dialog: the page's address without it. */
export const closeDocument = (): void =>
  navigate(hrefWith({ ...NO_PLACE, document: undefined, show: undefined }));

/** While a text is on its way, the state of it is asked for again. */
const PENDING_REFRESH_MS = 2000;

/** One document: its preview, its metadata, its readers, and its text. */
export function DocumentDialog({ id, onClose, onChanged }: Props) {
  const document = useResource(() => readDocument(id), [id]);
  const [isPending, setPending] = useState(false);
  const content = useResource(() => readContent(id), [id], isPending ? { everyMs: PENDING_REFRESH_MS } : {});
  useEffect(() => setPending(content.data?.status === 'pending'), [content.data?.status]);
  const view = readView();
  return (
    <Dialog title={document.data?.name ?? t('library.document')} wide onClose={onClose}>
      <div class="form">
        <Tabs
          label={t('library.document.views')}
          tabs={VIEWS.map((each) => ({
            href: hrefWith({
              ...NO_PLACE,
              show: each === 'document' ? undefined : each,
            }),
            label: t(`library.document.${each}`),
            current: each === view,
          }))}
        />
        <ErrorNotice error={document.error} />
        {document.data === undefined ? (
          document.loading && <Loading />
        ) : view === 'document' ? (
          <>
            <Preview document={document.data} />
            <Facts of={document.data} content={content.data} />
            <DocumentForm key={document.data.id} document={document.data} onChanged={onChanged} />
          </>
        ) : view === 'history' ? (
          <DocumentHistory id={id} />
        ) : (
          <>
            <ErrorNotice error={content.error} retry={content.reload} />
            {content.data === undefined ? (
              content.loading && <Loading />
            ) : view === 'text' ? (
              <>
                <ContentState
                  id={id}
                  content={content.data}
                  onChanged={() => {
                    content.reload();
                    onChanged();
                  }}
                />
                <TextView id={id} content={content.data} />
              </>
            ) : (
              <PassageList id={id} />
            )}
          </>
        )}
      </div>
    </Dialog>
  );
}

function Facts({ of, content }: { of: Document; content: Content | undefined }) {
  const acting = useAction();
  const open = async (disposition: 'inline' | 'attachment'): Promise<void> => {
    globalThis.open(await urlOf(of.id, disposition), '_blank', 'noopener');
  };
  return (
    <div class="stack">
      <dl class="facts small">
        <dt>{t('library.id')}</dt>
        <dd>
          <code>{of.id}</code>
        </dd>
        <dt>{t('library.size')}</dt>
        <dd>{of.file_size === null ? '–' : formatBytes(of.file_size)}</dd>
        <dt>{t('library.time')}</dt>
        <dd>
          <Time at={of.created_at} />
        </dd>
        <dt>{t('library.place')}</dt>
        <dd>
          <code>{of.storage_url}</code>
        </dd>
        <dt>MD5</dt>
        <dd>
          <code>{of.file_hash ?? '–'}</code>
        </dd>
        {content === undefined ? null : (
          <>
            <dt>{t('content.text')}</dt>
            <dd>
              <ContentBadge of={content} /> {content.status === 'ready' ? figuresOf(content) : null}
            </dd>
          </>
        )}
        {of.status === 'deleted' ? (
          <>
            <dt>{t('library.status')}</dt>
            <dd>
              <Badge tone="warn">{t('library.binned')}</Badge>
            </dd>
          </>
        ) : null}
      </dl>
      <ErrorNotice error={acting.error} />
      <div class="row">
        <Button busy={acting.busy} onClick={() => acting.run(() => open('attachment'))}>
          {t('library.download')}
        </Button>
        {opensInBrowser(of) ? (
          <Button look="plain" onClick={() => acting.run(() => open('inline'))}>
            {t('library.open')}
          </Button>
        ) : null}
      </div>
    </div>
  );
}

const curatorsOf = ({ access }: Document): string[] => {
  const curators = access?.['curators'];
  return Array.isArray(curators) ? curators.map(String) : [];
};

function DocumentForm({ document, onChanged }: { document: Document; onChanged(): void }) {
  const [name, setName] = useState(document.name);
  const [tags, setTags] = useState((document.tags ?? []).join(', '));
  const [categories, setCategories] = useState((document.categories ?? []).join(', '));
  const [summary, setSummary] = useState(document.summary ?? '');
  const [status, setStatus] = useState<string>(document.status);
  const [curators, setCurators] = useState(curatorsOf(document).join(', '));
  const [saved, setSaved] = useState(false);
  const saving = useAction();
  useEffect(() => setSaved(false), [name, tags, categories, summary, status, curators]);
  if (document.status === 'deleted' || !hasScope('documents:write')) return null;
  const fields = saving.error?.fields ?? {};
  const save = async (): Promise<void> => {
    await patchDocument(document.id, {
      name,
      tags: toWords(tags),
      categories: toWords(categories),
      summary: summary === '' ? null : summary,
      ...(status === document.status ? {} : { status: status as 'public' | 'private' }),
      ...(curators === curatorsOf(document).join(', ')
        ? {}
        : { access: { ...document.access, curators: toWords(curators) } }),
    });
    setSaved(true);
    onChanged();
  };
  return (
    <Form acting={saving} run={save}>
      <div class="form-row">
        <TextField
          label={t('library.name')}
          value={name}
          onValue={setName}
          mistake={fields['name']}
          required
        />
        <SelectField
          label={t('library.status')}
          value={status}
          onValue={setStatus}
          choices={[
            { value: 'private', label: t('library.private') },
            { value: 'public', label: t('library.public') },
          ]}
        />
      </div>
      <div class="form-row">
        <TextField
          label={t('library.tags')}
          hint={t('library.words')}
          value={tags}
          onValue={setTags}
          mistake={fields['tags']}
        />
        <TextField
          label={t('library.categories')}
          hint={t('library.words')}
          value={categories}
          onValue={setCategories}
        />
      </div>
      <TextField
        label={t('library.curators')}
        hint={t('library.curators.hint')}
        value={curators}
        onValue={setCurators}
        mistake={fields['curators']}
      />
      <TextField label={t('library.summary')} rows={3} value={summary} onValue={setSummary} />
      <div class="row">
        <Button look="primary" type="submit" busy={saving.busy}>
          {t('action.save')}
        </Button>
        {saved ? <Notice tone="good" title={t('action.saved')} /> : null}
      </div>
    </Form>
  );
}
