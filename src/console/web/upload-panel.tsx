import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './components/button.tsx';
import { TextField } from './components/field.tsx';
import { workspace } from './state.ts';
import { formatBytes, formatNumber, t } from './text.ts';
import {
  cancel,
  cancelAll,
  canRetry,
  clearDone,
  enqueue,
  type QueuedUpload,
  retry,
  retryFailed,
  uploads,
} from './uploads.ts';

/** Where files are dropped or chosen, and the line of those on their way. They go to the folder that is open, or to another one. */
export function UploadPanel({ folder: open }: { folder: string }) {
  const input = useRef<HTMLInputElement>(null);
  const [folder, setFolder] = useState(open);
  useEffect(() => setFolder(open), [open]);
  const [over, setOver] = useState(false);
  const add = (files: FileList | null | undefined): void =>
    enqueue([...(files ?? [])], { workspace: workspace.value, folder });
  return (
    <div class="stack">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button inside does the same by keyboard. */}
      <div
        class={`drop ${over ? 'over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          add(event.dataTransfer?.files);
        }}
      >
        <input
          ref={input}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            add(event.currentTarget.files);
            event.currentTarget.value = '';
          }}
        />
        <Button look="primary" onClick={() => input.current?.click()}>
          {t('library.choose')}
        </Button>
        <span class="soft">{t('library.drop')}</span>
        <div class="drop-folder">
          <TextField
            label={t('library.folder')}
            value={folder}
            onValue={setFolder}
            placeholder={t('library.folder.none')}
          />
        </div>
      </div>
      <Line />
    </div>
  );
}

const SHOWN_MAX = 8;
const ORDER = { failed: 0, sending: 1, waiting: 2, cancelled: 3, done: 4 };

/** The first few uploads: failures first, because a person has to act on them; the rest is counted. */
function Line() {
  const all = uploads.value;
  if (all.length === 0) return null;
  const count = (state: QueuedUpload['state']): number => all.filter((each) => each.state === state).length;
  const shown = [...all].sort((a, b) => ORDER[a.state] - ORDER[b.state] || a.id - b.id).slice(0, SHOWN_MAX);
  const summary = t('uploads.summary', {
    done: formatNumber(count('done')),
    all: formatNumber(all.length),
    failed: formatNumber(count('failed')),
  });
  const isRunning = count('waiting') + count('sending') > 0;
  return (
    <section class="uploads" aria-label={t('uploads.title')}>
      <header class="row spread">
        <span role="status">{summary}</span>
        <span class="row">
          {isRunning ? <Button onClick={cancelAll}>{t('uploads.cancel-all')}</Button> : null}
          {count('failed') > 0 ? <Button onClick={retryFailed}>{t('uploads.retry-all')}</Button> : null}
          <Button look="plain" onClick={clearDone}>
            {t('uploads.clear')}
          </Button>
        </span>
      </header>
      {isRunning ? <Whole all={all} /> : null}
      <ul>
        {shown.map((each) => (
          <UploadRow key={each.id} of={each} />
        ))}
      </ul>
      {all.length > shown.length ? (
        <p class="soft small">{t('uploads.more', { count: formatNumber(all.length - shown.length) })}</p>
      ) : null}
    </section>
  );
}

/** How far the whole line is: bytes and speed of all files together, without those that failed or were cancelled. */
function Whole({ all }: { all: readonly QueuedUpload[] }) {
  const counted = all.filter(({ state }) => state !== 'failed' && state !== 'cancelled');
  const sumOf = (value: (upload: QueuedUpload) => number): number =>
    counted.reduce((sum, each) => sum + value(each), 0);
  const [sent, size] = [sumOf((each) => each.sent), sumOf((each) => each.size)];
  const speed = sumOf((each) => (each.state === 'sending' ? (each.speed ?? 0) : 0));
  return (
    <div class="whole">
      <progress value={sent} max={Math.max(1, size)} aria-label={t('uploads.whole')} />
      <span class="soft small">
        {t('uploads.speed', { sent: formatBytes(sent), size: formatBytes(size), speed: formatBytes(speed) })}
      </span>
    </div>
  );
}

const UploadRow = ({ of: { id, name, size, sent, state, reason, speed } }: { of: QueuedUpload }) => (
  <li class="upload">
    <span class="name">{name}</span>
    <span class="soft small number">
      {state === 'sending' && speed !== undefined
        ? t('uploads.speed', { sent: formatBytes(sent), size: formatBytes(size), speed: formatBytes(speed) })
        : `${formatBytes(size)} · ${t(`uploads.${state}`)}`}
    </span>
    {state === 'sending' || state === 'waiting' ? (
      <Button look="plain" onClick={() => cancel(id)} aria-label={t('uploads.cancel', { name })}>
        {t('action.cancel')}
      </Button>
    ) : (state === 'failed' || state === 'cancelled') && canRetry(id) ? (
      <Button look="plain" onClick={() => retry(id)} aria-label={t('uploads.retry', { name })}>
        {t('action.retry')}
      </Button>
    ) : (
      <span />
    )}
    {state === 'sending' ? <progress value={sent} max={Math.max(1, size)} aria-label={name} /> : null}
    {reason === undefined ? null : (
      <p class="mistake small" role="alert">
        {reason}
      </p>
    )}
  </li>
);
