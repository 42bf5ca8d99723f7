import { answerOf, api } from '../api.ts';
import { ChatPlay } from '../chat-play.tsx';
import { ErrorNotice, Loading, Notice } from '../components/notice.tsx';
import { Page, Tabs } from '../components/page.tsx';
import { EmbeddingPlay } from '../embedding-play.tsx';
import { useResource } from '../resource.ts';
import { hrefOf, query } from '../router.ts';
import { hasScope, isOwnWorkspace, workspace } from '../state.ts';
import { t } from '../text.ts';

export default function Playground() {
  const view = query.value.get('view') === 'embeddings' ? 'embeddings' : 'chat';
  return (
    <Page title={t('page.playground')} about={t('playground.about')}>
      <Tabs
        label={t('library.views')}
        tabs={[
          { href: hrefOf('playground'), label: t('playground.chat'), current: view === 'chat' },
          {
            href: hrefOf('playground', { view: 'embeddings' }),
            label: t('playground.embeddings'),
            current: view === 'embeddings',
          },
        ]}
      />
      <WithModels view={view} />
    </Page>
  );
}

function WithModels({ view }: { view: 'chat' | 'embeddings' }) {
  if (!isOwnWorkspace.value) return <Notice title={t('workspace.key', { workspace: workspace.value })} />;
  if (!hasScope('models')) return <Notice title={t('usage.scope', { scope: 'models' })} />;
  return <Loaded view={view} />;
}

function Loaded({ view }: { view: 'chat' | 'embeddings' }) {
  const models = useResource(() => answerOf(api.GET('/admin/call/v1/models')), []);
  if (models.data === undefined)
    return models.error === undefined ? (
      <Loading />
    ) : (
      <ErrorNotice error={models.error} retry={models.reload} />
    );
  const able = models.data.data.filter(({ endpoints }) => endpoints.includes(view)).map(({ id }) => id);
  if (able.length === 0) return <Notice title={t(`playground.none.${view}`)} />;
  return view === 'chat' ? <ChatPlay models={able} /> : <EmbeddingPlay models={able} />;
}
