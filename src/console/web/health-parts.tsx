// What the health page shows beside the state of each part: jobs, buffers, versions and settings.

import { answerOf, api, type Schemas } from './api.ts';
import { Badge } from './components/badge.tsx';
import { Empty, ErrorNotice, Loading } from './components/notice.tsx';
import { Section } from './components/page.tsx';
import { Table } from './components/table.tsx';
import type { MessageName } from './messages.ts';
import { useResource } from './resource.ts';
import { formatBytes, formatNumber, isMessage, t } from './text.ts';

type Services = Schemas['Readiness']['services'];
type JobKind = { waiting: number; lag_seconds: number; late: boolean; given_up: number };
type Setting = Schemas['ServiceSettings']['settings'][number];

/** A buffer counts as nearly full from here on. */
const NEARLY_FULL = 0.8;

/** What a warning means, and what to do. */
const Explained = ({ name, isWarning }: { name: MessageName; isWarning: boolean }) => (
  <>
    {isWarning ? <Badge tone="warn">{t('health.warning')}</Badge> : null} <span class="small">{t(name)}</span>
  </>
);

function JobName({ kind }: { kind: string }) {
  const about = `job.${kind}`;
  return (
    <>
      <div>
        <code>{kind}</code>
      </div>
      {isMessage(about) ? <span class="soft small">{t(about)}</span> : null}
    </>
  );
}

/** The kinds of work in the background. */
export function Jobs({ services }: { services: Services }) {
  const kinds = (services['jobs']?.['kinds'] ?? {}) as Record<string, JobKind>;
  const rows = Object.entries(kinds).map(([kind, figures]) => ({ kind, ...figures }));
  return (
    <Section title={t('health.jobs')}>
      {rows.length === 0 ? (
        <Empty title={t('health.jobs.none')} />
      ) : (
        <Table
          caption={t('health.jobs')}
          rows={rows}
          keyOf={({ kind }) => kind}
          columns={[
            {
              title: t('health.job'),
              cell: ({ kind }) => <JobName kind={kind} />,
            },
            { title: t('health.waiting'), kind: 'number', cell: ({ waiting }) => formatNumber(waiting) },
            {
              title: t('health.lag'),
              kind: 'number',
              cell: (row) => t('health.seconds', { count: formatNumber(row.lag_seconds) }),
            },
            { title: t('health.given-up'), kind: 'number', cell: (row) => formatNumber(row.given_up) },
            {
              title: t('health.meaning'),
              cell: (row) => (
                <Explained
                  name={row.given_up > 0 ? 'health.jobs.given-up' : 'health.jobs.late'}
                  isWarning={row.given_up > 0 || row.late}
                />
              ),
            },
          ]}
        />
      )}
    </Section>
  );
}

type Buffer = { name: MessageName; value: string; meaning: MessageName; isWarning: boolean };

/** What waits on its way to the database. */
export function Buffers({ services }: { services: Services }) {
  const figures = services['usage_events'] ?? { state: 'down' };
  const read = (name: string): number => Number(figures[name] ?? 0);
  const share = read('buffer_bytes') / Math.max(1, read('buffer_bytes_max'));
  const rows: Buffer[] = [
    {
      name: 'health.buffer.events',
      value: t('health.buffer.of', {
        used: formatBytes(read('buffer_bytes')),
        most: formatBytes(read('buffer_bytes_max')),
      }),
      meaning: 'health.buffer.events.meaning',
      isWarning: share > NEARLY_FULL,
    },
    {
      name: 'health.buffer.packs',
      value: formatNumber(read('waiting_packs')),
      meaning: 'health.buffer.packs.meaning',
      isWarning: false,
    },
    {
      name: 'health.buffer.outbox',
      value: formatNumber(read('outbox_events')),
      meaning: 'health.buffer.outbox.meaning',
      isWarning: figures.detail?.includes('outbox') ?? false,
    },
    {
      name: 'health.buffer.synced',
      value: t(figures['synced_before_acknowledged'] === false ? 'no' : 'yes'),
      meaning: 'health.buffer.synced.meaning',
      isWarning: figures['synced_before_acknowledged'] === false,
    },
  ];
  return (
    <Section title={t('health.buffers')}>
      <Table
        caption={t('health.buffers')}
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          { title: t('health.buffer'), cell: ({ name }) => t(name) },
          { title: t('health.figures'), kind: 'number', cell: ({ value }) => value },
          {
            title: t('health.meaning'),
            cell: ({ meaning, isWarning }) => <Explained name={meaning} isWarning={isWarning} />,
          },
        ]}
      />
    </Section>
  );
}

/** Versions and the settings in force, for operators. Secrets show only whether they are set. */
export function Settings() {
  const read = useResource(() => answerOf(api.GET('/admin/api/settings')), []);
  if (read.data === undefined)
    return read.error === undefined ? <Loading /> : <ErrorNotice error={read.error} retry={read.reload} />;
  const { versions, settings } = read.data;
  return (
    <>
      <Section title={t('health.versions')}>
        <dl class="facts">
          {Object.entries(versions).map(([name, version]) => (
            <div class="fact" key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{version ?? '–'}</code>
              </dd>
            </div>
          ))}
        </dl>
      </Section>
      <Section title={t('health.settings')} aside={<span class="soft">{t('health.settings.about')}</span>}>
        <Table
          caption={t('health.settings')}
          rows={settings}
          keyOf={({ name }) => name}
          columns={[
            {
              title: t('health.setting'),
              cell: ({ name, meaning }) => (
                <>
                  <div>
                    <code>{name}</code>
                  </div>
                  <span class="soft small">{meaning}</span>
                </>
              ),
            },
            { title: t('health.value'), cell: (row) => <Value of={row} /> },
            { title: t('health.default'), cell: (row) => <span class="soft">{row.default}</span> },
          ]}
        />
      </Section>
    </>
  );
}

function Value({ of: { value, is_set: isSet, is_secret: isSecret } }: { of: Setting }) {
  if (value !== null) return <code class={isSet ? 'lines' : 'soft'}>{value}</code>;
  if (isSecret) return <Badge>{t(isSet ? 'health.set' : 'health.not-set')}</Badge>;
  return <span class="soft">{t('health.not-set')}</span>;
}
