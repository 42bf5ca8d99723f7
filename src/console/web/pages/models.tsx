import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from '../api.ts';
import { streamChat } from '../chat-stream.ts';
import { Badge, Chips } from '../components/badge.tsx';
import { Button, LinkButton } from '../components/button.tsx';
import { Empty, ErrorNotice, Loading, Notice } from '../components/notice.tsx';
import { Page, Section } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { lastDays } from '../periods.ts';
import { useAction, useResource } from '../resource.ts';
import { hrefOf } from '../router.ts';
import { hasScope, isOwnWorkspace, workspace } from '../state.ts';
import { formatMilliseconds, formatMoney, formatNumber, t } from '../text.ts';
import { readModelUsage } from '../usage-models.tsx';

const DAYS = 30;
const REFRESH_MS = 10_000;

type Model = Schemas['Model'];
type Sums = Schemas['ModelUsage']['items'][number];

const byGroup = ({ items }: Schemas['ModelUsage']): ReadonlyMap<string, Sums> =>
  new Map(items.map((item) => [item.group, item]));

async function readModels() {
  const from = lastDays(DAYS)[0] ?? 0;
  const [catalogue, health, ofModels, ofTargets, outcomes] = await Promise.all([
    answerOf(api.GET('/admin/call/v1/models')),
    answerOf(api.GET('/admin/api/status')),
    readModelUsage(from, 'model'),
    readModelUsage(from, 'target'),
    readModelUsage(from, 'outcome'),
  ]);
  return {
    models: catalogue.data,
    state: health.services['models'],
    usage: byGroup(ofModels),
    targets: ofTargets.items,
    outcomes: outcomes.items,
  };
}

export default function Models() {
  return (
    <Page title={t('page.models')} about={t('models.about')}>
      <Content />
    </Page>
  );
}

function Content() {
  if (!isOwnWorkspace.value) return <Notice title={t('workspace.key', { workspace: workspace.value })} />;
  if (!hasScope('models')) return <Notice title={t('usage.scope', { scope: 'models' })} />;
  return <Catalogue />;
}

function Catalogue() {
  const models = useResource(readModels, [workspace.value], { everyMs: REFRESH_MS });
  if (models.data === undefined)
    return models.error === undefined ? (
      <Loading />
    ) : (
      <ErrorNotice error={models.error} retry={models.reload} />
    );
  const { state, usage, targets, outcomes } = models.data;
  return (
    <>
      {state?.detail === undefined ? null : (
        <Notice tone="warn" title={t('models.trouble')}>
          {state.detail}
        </Notice>
      )}
      <Section
        title={t('models.catalogue')}
        aside={<span class="soft">{t('usage.days', { count: DAYS })}</span>}
      >
        {models.data.models.length === 0 ? (
          <Empty title={t('models.none')} />
        ) : (
          <Table
            caption={t('models.catalogue')}
            rows={models.data.models}
            keyOf={({ id }) => id}
            columns={[
              { title: t('playground.model'), cell: (row) => <ModelName of={row} /> },
              { title: t('models.can'), cell: ({ endpoints }) => <Chips words={endpoints} /> },
              {
                title: t('usage.requests'),
                kind: 'number',
                cell: ({ id }) => formatNumber(usage.get(id)?.requests ?? 0),
              },
              {
                title: t('usage.tokens'),
                kind: 'number',
                cell: ({ id }) => formatNumber(usage.get(id)?.total_tokens ?? 0),
              },
              {
                title: t('home.spend'),
                kind: 'number',
                cell: ({ id }) => formatMoney(usage.get(id)?.cost ?? 0),
              },
              {
                title: t('usage.latency'),
                kind: 'number',
                cell: ({ id }) => formatMilliseconds(usage.get(id)?.latency_ms ?? null),
              },
              { title: '', kind: 'actions', cell: (row) => <Test model={row} /> },
            ]}
          />
        )}
      </Section>
      <Targets targets={targets} />
      <Outcomes outcomes={outcomes} />
    </>
  );
}

const ModelName = ({ of: { id, owned_by: owner, description } }: { of: Model }) => (
  <>
    <div>
      <code>{id}</code>
    </div>
    <span class="soft small">{description ?? owner}</span>
  </>
);

const TEST_TIMEOUT_MS = 30_000;

/** One short call, to see whether the model answers; it counts like any other. */
async function callModel({ id, endpoints }: Model): Promise<string> {
  if (endpoints.includes('chat')) {
    const signal = AbortSignal.timeout(TEST_TIMEOUT_MS);
    const messages = [{ role: 'user' as const, content: t('first.model.question') }];
    const { totalMs } = await streamChat({ model: id, messages }, { signal, onText: () => undefined });
    return formatMilliseconds(totalMs);
  }
  const startedAt = performance.now();
  await answerOf(
    api.POST('/admin/call/v1/embeddings', {
      body: { model: id, input: [t('first.model.question')], encoding_format: 'float' },
    }),
  );
  return formatMilliseconds(performance.now() - startedAt);
}

function Test({ model }: { model: Model }) {
  const calling = useAction();
  const [time, setTime] = useState<string>();
  const testable = ['chat', 'embeddings'].some((endpoint) => model.endpoints.includes(endpoint));
  return (
    <>
      {time === undefined ? null : <Badge tone="good">{t('models.answered', { time })}</Badge>}
      {calling.error === undefined ? null : (
        <span title={calling.error.message}>
          <Badge tone="bad">{t('models.failed', { status: calling.error.status })}</Badge>
        </span>
      )}
      {testable ? (
        <Button
          look="plain"
          busy={calling.busy}
          onClick={() => calling.run(() => callModel(model).then(setTime))}
        >
          {t('models.test')}
        </Button>
      ) : null}
      {model.endpoints.includes('chat') ? (
        <LinkButton look="plain" href={hrefOf('playground', { model: model.id })}>
          {t('page.playground')}
        </LinkButton>
      ) : null}
    </>
  );
}

const Targets = ({ targets }: { targets: readonly Sums[] }) =>
  targets.length === 0 ? null : (
    <Section title={t('models.targets')} aside={<span class="soft">{t('models.targets.about')}</span>}>
      <Table
        caption={t('models.targets')}
        rows={targets}
        keyOf={({ group }) => group}
        columns={[
          { title: t('usage.by.target'), cell: ({ group }) => <code>{group || '–'}</code> },
          { title: t('usage.requests'), kind: 'number', cell: ({ requests }) => formatNumber(requests) },
          { title: t('usage.latency'), kind: 'number', cell: (row) => formatMilliseconds(row.latency_ms) },
          { title: t('usage.first'), kind: 'number', cell: (row) => formatMilliseconds(row.first_event_ms) },
          { title: t('home.spend'), kind: 'number', cell: ({ cost }) => formatMoney(cost) },
        ]}
      />
    </Section>
  );

const Outcomes = ({ outcomes }: { outcomes: readonly Sums[] }) =>
  outcomes.length === 0 ? null : (
    <Section title={t('models.outcomes')}>
      <dl class="figures">
        {outcomes.map(({ group, requests }) => (
          <div class="figure" key={group}>
            <dt>{group}</dt>
            <dd>{formatNumber(requests)}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
