import { answerOf, api } from './api.ts';
import { Badge } from './components/badge.tsx';
import { Button } from './components/button.tsx';
import { ErrorNotice, Loading } from './components/notice.tsx';
import { Figures } from './components/page.tsx';
import { Table } from './components/table.tsx';
import { Time } from './components/time.tsx';
import { STATUSES } from './content-data.ts';
import { ContentBadge } from './content-state.tsx';
import { useAction, useResource } from './resource.ts';
import { hrefOf } from './router.ts';
import { hasScope, session } from './state.ts';
import { formatNumber, t } from './text.ts';

const REFRESH_MS = 15_000;

const pathOf = (workspace: string) => ({ params: { path: { workspace_id: workspace } } });

/** How far the files of a workspace are read: documents by the state of their text, and their passages. */
export function ContentCounts({ workspace }: { workspace: string }) {
  const summary = useResource(
    () => answerOf(api.GET('/admin/api/workspaces/{workspace_id}/content/summary', pathOf(workspace))),
    [workspace],
    { everyMs: REFRESH_MS },
  );
  if (summary.data === undefined)
    return summary.error === undefined ? <Loading /> : <ErrorNotice error={summary.error} />;
  const { documents, passages, without_vectors: withoutVectors, waiting_since: since } = summary.data;
  const opens = workspace === session.value?.workspace_id && hasScope('documents:read');
  return (
    <div class="stack">
      <Figures
        figures={[
          { name: t('content.count.passages'), value: formatNumber(passages) },
          { name: t('content.count.waiting'), value: formatNumber(documents.pending) },
          { name: t('content.count.vectors'), value: formatNumber(withoutVectors) },
          { name: t('content.count.oldest'), value: <Time at={since} relative /> },
        ]}
      />
      <Table
        caption={t('content.state')}
        rows={STATUSES}
        keyOf={(status) => status}
        columns={[
          {
            title: t('content.state'),
            cell: (status) => <ContentBadge of={{ status, reading: 'on' }} />,
          },
          {
            title: t('content.count.documents'),
            kind: 'number',
            cell: (status) =>
              opens && documents[status] > 0 ? (
                <a href={hrefOf('library', { view: 'texts', status })}>{formatNumber(documents[status])}</a>
              ) : (
                formatNumber(documents[status])
              ),
          },
          {
            title: t('content.count.meaning'),
            cell: (status) => <span class="small">{t(`content.${status}.about`)}</span>,
          },
        ]}
      />
    </div>
  );
}

/** Whether the files of a workspace are read, and the switch. */
export function ReadingSwitch({ workspace }: { workspace: string }) {
  const path = '/admin/api/workspaces/{workspace_id}/content';
  const settings = useResource(() => answerOf(api.GET(path, pathOf(workspace))), [workspace]);
  const switching = useAction();
  if (settings.data === undefined)
    return settings.error === undefined ? <Loading /> : <ErrorNotice error={settings.error} />;
  const isOn = settings.data.reading === 'on';
  const change = async (): Promise<void> => {
    await answerOf(api.PUT(path, { ...pathOf(workspace), body: { reading: isOn ? 'off' : 'on' } }));
    settings.reload();
  };
  return (
    <div class="stack">
      <div class="row">
        <Badge tone={isOn ? 'good' : 'neutral'}>{t(isOn ? 'reading.on' : 'reading.off')}</Badge>
        <Button busy={switching.busy} onClick={() => switching.run(change)}>
          {t(isOn ? 'reading.switch-off' : 'reading.switch-on')}
        </Button>
      </div>
      <p class="soft">{t(isOn ? 'reading.on.about' : 'reading.off.about')}</p>
      <ErrorNotice error={switching.error} />
    </div>
  );
}
