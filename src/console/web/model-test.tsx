import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { streamChat } from './chat-stream.ts';
import { Badge } from './components/badge.tsx';
import { Button, LinkButton } from './components/button.tsx';
import { useAction } from './resource.ts';
import { hrefOf } from './router.ts';
import { hasScope, isOwnWorkspace } from './state.ts';
import { formatMilliseconds, t } from './text.ts';

type Model = Pick<Schemas['CatalogueModel'], 'id' | 'endpoints'>;

const TIMEOUT_MS = 30_000;

/** One short call, to see whether the model answers; it counts like any other. Returns the time that it took. */
async function callModel({ id, endpoints }: Model): Promise<string> {
  if (endpoints.includes('chat')) {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
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

/** The test call of a model and the way to the playground, for those whose key may call models here. */
export function ModelTest({ model }: { model: Model }) {
  const calling = useAction();
  const [time, setTime] = useState<string>();
  if (!isOwnWorkspace.value || !hasScope('models')) return null;
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
