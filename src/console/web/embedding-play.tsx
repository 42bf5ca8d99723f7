import { useState } from 'preact/hooks';
import { answerOf, api } from './api.ts';
import { Button } from './components/button.tsx';
import { SelectField, TextField } from './components/field.tsx';
import { ErrorNotice } from './components/notice.tsx';
import { Section } from './components/page.tsx';
import { useAction } from './resource.ts';
import { cosine } from './similarity.ts';
import { SnippetPanel } from './snippet-panel.tsx';
import { formatMilliseconds, formatNumber, t } from './text.ts';

const TEXTS_MAX = 12;

type Result = {
  texts: readonly string[];
  similarities: readonly (readonly number[])[];
  dimensions: number;
  ms: number;
};

const requestOf = (model: string, texts: readonly string[]) => ({
  model,
  input: [...texts],
  encoding_format: 'float' as const,
});

async function embed(model: string, texts: readonly string[]): Promise<Result> {
  const startedAt = performance.now();
  const { data } = await answerOf(api.POST('/admin/call/v1/embeddings', { body: requestOf(model, texts) }));
  const vectors = data.map(({ embedding }) => (Array.isArray(embedding) ? embedding : []));
  return {
    texts,
    similarities: vectors.map((a) => vectors.map((b) => cosine(a, b))),
    dimensions: vectors[0]?.length ?? 0,
    ms: performance.now() - startedAt,
  };
}

/** The lines that have words, each once. */
const toTexts = (text: string): string[] => {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter(Boolean))].slice(0, TEXTS_MAX);
};

/** How alike texts are to a model: the cosine of each pair. */
export function EmbeddingPlay({ models }: { models: readonly string[] }) {
  const [model, setModel] = useState(models[0] ?? '');
  const [text, setText] = useState('');
  const [result, setResult] = useState<Result>();
  const working = useAction();
  const texts = toTexts(text);
  return (
    <>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          working.run(async () => setResult(await embed(model, texts)));
        }}
      >
        <SelectField
          label={t('playground.model')}
          value={model}
          onValue={setModel}
          choices={models.map((each) => ({ value: each, label: each }))}
        />
        <TextField
          label={t('playground.texts')}
          hint={t('playground.texts.hint', { count: TEXTS_MAX })}
          rows={5}
          value={text}
          onValue={setText}
          required
        />
        <ErrorNotice error={working.error} />
        <div>
          <Button look="primary" type="submit" busy={working.busy}>
            {t('playground.compare')}
          </Button>
        </div>
      </form>
      {result === undefined ? null : <Matrix result={result} />}
      <SnippetPanel
        calls={[
          {
            path: '/embeddings',
            method: 'embeddings.create',
            body: requestOf(model, texts.length === 0 ? [t('first.model.question')] : texts),
          },
        ]}
      />
    </>
  );
}

const Matrix = ({ result: { texts, similarities, dimensions, ms } }: { result: Result }) => (
  <Section
    title={t('playground.similarity')}
    aside={
      <span class="soft">
        {t('playground.dimensions', { count: formatNumber(dimensions) })} · {formatMilliseconds(ms)}
      </span>
    }
  >
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
    <section class="table-frame matrix" tabIndex={0} aria-label={t('playground.similarity')}>
      <table>
        <thead>
          <tr>
            <td />
            {texts.map((text, at) => (
              <th key={text} scope="col" title={text}>
                {at + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {texts.map((text, row) => (
            <tr key={text}>
              <th scope="row">
                {row + 1}. <span class="name">{text}</span>
              </th>
              {(similarities[row] ?? []).map((value, column) => (
                <td key={texts[column]} style={{ '--share': Math.max(0, value) }}>
                  {value.toFixed(2)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  </Section>
);
