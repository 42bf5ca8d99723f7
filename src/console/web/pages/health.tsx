import { answerOf, api, type Schemas } from '../api.ts';
import { Badge, type Tone } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { Page, Section } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { ContentCounts } from '../content-counts.tsx';
import { Buffers, Jobs, Settings } from '../health-parts.tsx';
import { useResource } from '../resource.ts';
import { hrefOf } from '../router.ts';
import { isOperator, workspace } from '../state.ts';
import { formatBytes, formatMilliseconds, formatNumber, isMessage, t } from '../text.ts';

const REFRESH_MS = 5000;

type Services = Schemas['Readiness']['services'];
type Service = { name: string; state: string; detail: string | undefined; figures: [string, unknown][] };

const TONES: Record<string, Tone> = { ready: 'good', degraded: 'warn', down: 'bad', unavailable: 'bad' };

/** Jobs and buffers have tables of their own. */
const SHOWN_BELOW = new Set(['kinds', 'waiting_packs', 'buffer_bytes', 'buffer_bytes_max', 'outbox_events']);

const toRows = (services: Services): Service[] =>
  Object.entries(services).map(([name, { state, detail, ...figures }]) => ({
    name,
    state,
    detail,
    figures: Object.entries(figures).filter(([figure]) => !SHOWN_BELOW.has(figure)),
  }));

const readVersion = async (): Promise<{ version: string }> => (await fetch('/')).json();

export default function Health() {
  const health = useResource(() => answerOf(api.GET('/admin/api/status')), [], { everyMs: REFRESH_MS });
  const root = useResource(readVersion, []);
  const rows = health.data === undefined ? [] : toRows(health.data.services);
  return (
    <Page
      title={t('page.health')}
      about={t('health.about')}
      actions={
        <Button busy={health.loading} onClick={health.reload}>
          {t('action.refresh')}
        </Button>
      }
    >
      <ErrorNotice error={health.error} />
      {health.data === undefined ? (
        health.loading && <Loading />
      ) : (
        <>
          <div class="row">
            <Badge tone={TONES[health.data.status] ?? 'neutral'}>
              {wordOf(`health.${health.data.status}`)}
            </Badge>
            <span>{wordOf(`health.${health.data.status}.about`)}</span>
          </div>
          <Section
            title={t('health.services')}
            aside={<span class="soft">{`Atrium ${root.data?.version ?? ''}`}</span>}
          >
            <Table
              caption={t('health.services')}
              rows={rows}
              keyOf={({ name }) => name}
              columns={[
                {
                  title: t('health.service'),
                  cell: ({ name }) => (
                    <>
                      <div>
                        <code>{name}</code>
                      </div>
                      <span class="soft small">{wordOf(`service.${name}`)}</span>
                    </>
                  ),
                },
                {
                  title: t('health.state'),
                  cell: (row) => (
                    <>
                      <Badge tone={TONES[row.state] ?? 'neutral'}>{wordOf(`health.${row.state}`)}</Badge>
                      <Meaning of={row} />
                    </>
                  ),
                },
                { title: t('health.figures'), cell: ({ figures }) => <FigureList figures={figures} /> },
              ]}
            />
          </Section>
          <Jobs services={health.data.services} />
          <Buffers services={health.data.services} />
          <Section
            title={t('health.texts', { workspace: workspace.value })}
            aside={
              isOperator.value ? (
                <a href={hrefOf('workspaces', { reading: workspace.value })}>{t('reading.change')}</a>
              ) : undefined
            }
          >
            <ContentCounts workspace={workspace.value} />
          </Section>
        </>
      )}
      {isOperator.value ? <Settings /> : null}
    </Page>
  );
}

/** The message of this name; the last part of the name where there is none, as for a state of a later version of the service. */
const wordOf = (name: string): string => (isMessage(name) ? t(name) : (name.split('.').at(-1) ?? name));

/** What is wrong, and what to do about it. */
function Meaning({ of: { name, state, detail } }: { of: Service }) {
  if (state === 'ready' && detail === undefined) return null;
  const advice = `advice.${name}`;
  return (
    <>
      <div>{detail}</div>
      {state !== 'ready' && isMessage(advice) ? <div class="soft small">{t(advice)}</div> : null}
    </>
  );
}

const FigureList = ({ figures }: { figures: readonly [string, unknown][] }) =>
  figures.length === 0 ? (
    <span class="soft">–</span>
  ) : (
    <dl class="facts small">
      {figures.map(([name, value]) => (
        <div class="fact" key={name}>
          <dt>{name.replaceAll('_', ' ')}</dt>
          <dd>{render(name, value)}</dd>
        </div>
      ))}
    </dl>
  );

function render(name: string, value: unknown): string {
  if (typeof value === 'boolean') return value ? t('yes') : t('no');
  if (typeof value === 'number') {
    if (/(?:^|_)ms$/.test(name)) return formatMilliseconds(value);
    return /bytes/.test(name) ? formatBytes(value) : formatNumber(value);
  }
  if (typeof value !== 'object' || value === null) return String(value);
  const parts = Object.entries(value).map(
    ([each, inner]) => `${each.replaceAll('_', ' ')} ${render(each, inner)}`,
  );
  return parts.join(', ');
}
