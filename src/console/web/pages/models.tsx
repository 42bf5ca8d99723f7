import { answerOf, api, type Schemas } from '../api.ts';
import { Badge, Chips, type Tone } from '../components/badge.tsx';
import { Empty, ErrorNotice, Loading, Notice } from '../components/notice.tsx';
import { Figures, Page, Section } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { ModelTest } from '../model-test.tsx';
import { lastDays } from '../periods.ts';
import { useResource } from '../resource.ts';
import { workspace } from '../state.ts';
import { formatMilliseconds, formatMoney, formatNumber, t } from '../text.ts';
import { readModelUsage } from '../usage-models.tsx';

const DAYS = 30;
const REFRESH_MS = 10_000;

type State = Schemas['ModelsState'];
type Model = State['models'][number];
type Target = State['targets'][number];
type Sums = Schemas['ModelUsage']['items'][number];
type Usage = ReadonlyMap<string, Sums>;

const byGroup = ({ items }: Schemas['ModelUsage']): Usage => new Map(items.map((item) => [item.group, item]));

async function readModels() {
  const from = lastDays(DAYS)[0] ?? 0;
  const [state, ofModels, ofTargets, ofOutcomes] = await Promise.all([
    answerOf(api.GET('/admin/api/models')),
    readModelUsage(from, 'model'),
    readModelUsage(from, 'target'),
    readModelUsage(from, 'outcome'),
  ]);
  return { state, models: byGroup(ofModels), targets: byGroup(ofTargets), outcomes: ofOutcomes.items };
}

export default function Models() {
  const models = useResource(readModels, [workspace.value], { everyMs: REFRESH_MS });
  return (
    <Page title={t('page.models')} about={t('models.about')}>
      <ErrorNotice error={models.error} retry={models.reload} />
      {models.data === undefined ? (
        models.loading && <Loading />
      ) : (
        <>
          <Mistake of={models.data.state} />
          <Catalogue state={models.data.state} usage={models.data.models} />
          <Targets targets={models.data.state.targets} usage={models.data.targets} />
          <Outcomes outcomes={models.data.outcomes} />
        </>
      )}
    </Page>
  );
}

/** The reason why the models file could not be read again; the former models stay in use. */
const Mistake = ({ of: { mistake, read_at: readAt } }: { of: State }) =>
  mistake === null ? null : (
    <Notice
      tone="warn"
      title={mistake.line === null ? t('models.mistake') : t('models.mistake.line', { line: mistake.line })}
    >
      <p class="lines">{mistake.message}</p>
      <p>
        {t('models.mistake.advice')} <Time at={readAt} />
      </p>
    </Notice>
  );

function Catalogue({ state, usage }: { state: State; usage: Usage }) {
  const targets = new Map(state.targets.map((target) => [target.target, target]));
  return (
    <Section
      title={t('models.catalogue')}
      aside={
        <span class="soft">
          {t(`models.source.${state.source}`)} {state.file === null ? null : <code>{state.file}</code>}
        </span>
      }
    >
      {state.models.length === 0 ? (
        <Empty title={t('models.none')} />
      ) : (
        <Table
          caption={t('models.catalogue')}
          rows={state.models}
          keyOf={({ id }) => id}
          columns={[
            { title: t('playground.model'), cell: (row) => <ModelName of={row} /> },
            { title: t('models.answered-by'), cell: (row) => <Answerers of={row} targets={targets} /> },
            { title: t('models.price'), kind: 'number', cell: ({ price }) => renderPrice(price) },
            {
              title: t('usage.requests'),
              kind: 'number',
              cell: ({ id }) => formatNumber(usage.get(id)?.requests ?? 0),
            },
            {
              title: t('usage.errors'),
              kind: 'number',
              cell: ({ id }) => formatNumber(usage.get(id)?.errors ?? 0),
            },
            {
              title: t('home.spend'),
              kind: 'number',
              cell: ({ id }) => formatMoney(usage.get(id)?.cost ?? 0),
            },
            {
              title: 'p95',
              kind: 'number',
              cell: ({ id }) => formatMilliseconds(usage.get(id)?.latency_p95_ms ?? null),
            },
            { title: '', kind: 'actions', cell: (row) => <ModelTest model={row} /> },
          ]}
        />
      )}
    </Section>
  );
}

const ModelName = ({
  of: { id, owned_by: owner, endpoints, description, default_of: defaults },
}: {
  of: Model;
}) => (
  <>
    <code>{id}</code>
    <div class="row">
      <Chips words={endpoints} />
      {defaults.length === 0 ? null : <Badge>{t('models.default', { of: defaults.join(', ') })}</Badge>}
    </div>
    <span class="soft small">{description ?? owner}</span>
  </>
);

/** The targets of a model, with marks on those that are not used now, and the models behind them. */
const Answerers = ({
  of: { targets: own, fallbacks, strategy },
  targets,
}: {
  of: Model;
  targets: ReadonlyMap<string, Target>;
}) => (
  <>
    {own.map(({ target, weight }) => (
      <div class="row" key={target}>
        <code>{target}</code>
        {own.length > 1 && strategy === 'weighted' ? <span class="soft small">× {weight}</span> : null}
        <CircuitBadge of={targets.get(target)} hideClosed />
      </div>
    ))}
    {fallbacks.length === 0 ? null : (
      <span class="soft small">{t('models.fallbacks', { models: fallbacks.join(', ') })}</span>
    )}
  </>
);

const renderPrice = (price: Model['price']): string =>
  price === null ? '–' : `${formatMoney(price.input_per_million)} / ${formatMoney(price.output_per_million)}`;

const TONES: Record<Target['circuit']['state'], Tone> = { closed: 'good', open: 'bad', 'half-open': 'warn' };

const CircuitBadge = ({ of, hideClosed = false }: { of: Target | undefined; hideClosed?: boolean }) =>
  of === undefined || (hideClosed && of.circuit.state === 'closed') ? null : (
    <Badge tone={TONES[of.circuit.state]}>{t(`models.circuit.${of.circuit.state}`)}</Badge>
  );

const Targets = ({ targets, usage }: { targets: readonly Target[]; usage: Usage }) =>
  targets.length === 0 ? null : (
    <Section title={t('models.targets')} aside={<span class="soft">{t('models.targets.about')}</span>}>
      <Table
        caption={t('models.targets')}
        rows={targets}
        keyOf={({ target }) => target}
        columns={[
          { title: t('usage.by.target'), cell: (row) => <TargetName of={row} /> },
          { title: t('models.circuit'), cell: (row) => <TargetState of={row} /> },
          { title: t('models.latency'), kind: 'number', cell: (row) => formatMilliseconds(row.latency_ms) },
          { title: t('models.running'), kind: 'number', cell: ({ running }) => formatNumber(running) },
          {
            title: t('usage.requests'),
            kind: 'number',
            cell: ({ target }) => formatNumber(usage.get(target)?.requests ?? 0),
          },
          { title: t('models.last-failure'), cell: (row) => <LastFailure of={row} /> },
        ]}
      />
    </Section>
  );

const TargetName = ({ of: { target, kind, base_url: url } }: { of: Target }) => (
  <>
    <div>
      <code>{target}</code>
    </div>
    <span class="soft small">{url === null ? kind : `${kind} · ${url}`}</span>
  </>
);

const TargetState = ({ of }: { of: Target }) => (
  <>
    <CircuitBadge of={of} />
    <div class="soft small">
      {of.resting_until === null ? (
        <>
          {t('models.since')} <Time at={of.circuit.since} />
        </>
      ) : (
        <>
          {t('models.resting')} <Time at={of.resting_until} relative />
        </>
      )}
    </div>
  </>
);

function LastFailure({ of: { last_failure: failure } }: { of: Target }) {
  if (failure === null) return <span class="soft">–</span>;
  return (
    <>
      <div class="row">
        <code>{failure.code ?? failure.kind}</code>
        {failure.status === null ? null : <Badge>{failure.status}</Badge>}
        <Time at={failure.at} relative />
      </div>
      <span class="soft small">{failure.reason}</span>
    </>
  );
}

const Outcomes = ({ outcomes }: { outcomes: readonly Sums[] }) =>
  outcomes.length === 0 ? null : (
    <Section
      title={t('models.outcomes')}
      aside={<span class="soft">{t('usage.days', { count: DAYS })}</span>}
    >
      <Figures
        figures={outcomes.map(({ group, requests }) => ({ name: group, value: formatNumber(requests) }))}
      />
    </Section>
  );
