import { useRef, useState } from 'preact/hooks';
import type { CallError } from './api.ts';
import { bodyOf, type ChatMessage, type ChatRequest, type Figures, streamChat } from './chat-stream.ts';
import { Button } from './components/button.tsx';
import { CheckField, SelectField, TextField } from './components/field.tsx';
import { ErrorNotice } from './components/notice.tsx';
import { toError } from './resource.ts';
import { hrefWith, navigate, query } from './router.ts';
import { SnippetPanel } from './snippet-panel.tsx';
import { formatMilliseconds, formatNumber, t } from './text.ts';

type Turn = {
  question: string;
  answer: string;
  /** Whether the answer is on its way. */
  running: boolean;
  figures: Figures | undefined;
  error: CallError | undefined;
};
type Side = { model: string; turns: readonly Turn[] };

const toMessages = (system: string, turns: readonly Turn[], question: string): ChatMessage[] => [
  ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
  ...turns
    .filter(({ answer, error }) => error === undefined && answer !== '')
    .flatMap((turn) => [
      { role: 'user' as const, content: turn.question },
      { role: 'assistant' as const, content: turn.answer },
    ]),
  { role: 'user', content: question },
];

type Settings = { system: string; temperature: string };

const requestOf = (
  model: string,
  { system, temperature }: Settings,
  turns: readonly Turn[],
  question: string,
): ChatRequest => ({
  model,
  messages: toMessages(system, turns, question),
  ...(temperature === '' ? {} : { temperature: Number(temperature) }),
});

/** A conversation with one model, or the same with two side by side. The models stand in the URL. */
export function ChatPlay({ models }: { models: readonly string[] }) {
  const chosen = (name: string): string | undefined =>
    models.find((model) => model === query.value.get(name));
  const first = chosen('model') ?? models[0] ?? '';
  const second = query.value.has('other') ? (chosen('other') ?? first) : undefined;
  const [system, setSystem] = useState('');
  const [temperature, setTemperature] = useState('');
  const [question, setQuestion] = useState('');
  const conversation = useConversation({ system, temperature });
  const sides = [first, ...(second === undefined ? [] : [second])];
  const toRequest = (model: string, at: number): ChatRequest =>
    requestOf(
      model,
      { system, temperature },
      conversation.turnsOf(at),
      question || t('first.model.question'),
    );
  return (
    <>
      <div class="form-row">
        <ModelField label={t('playground.model')} models={models} value={first} name="model" />
        {second === undefined ? null : (
          <ModelField label={t('playground.other')} models={models} value={second} name="other" />
        )}
        <TextField
          label={t('playground.temperature')}
          type="number"
          min={0}
          max={2}
          step="0.1"
          value={temperature}
          onValue={setTemperature}
        />
      </div>
      <CheckField
        label={t('playground.two')}
        checked={second !== undefined}
        onChecked={(two) => navigate(hrefWith({ other: two ? first : undefined }))}
      />
      <TextField label={t('playground.system')} rows={2} value={system} onValue={setSystem} />
      <div class="columns">
        {sides.map((model, at) => (
          <Transcript key={at} side={{ model, turns: conversation.turnsOf(at) }} />
        ))}
      </div>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (conversation.busy || question.trim() === '') return;
          conversation.ask(sides, question);
          setQuestion('');
        }}
      >
        <TextField
          label={t('playground.message')}
          hint={t('playground.message.hint')}
          enterSends
          rows={3}
          value={question}
          onValue={setQuestion}
          required
          autofocus
        />
        <div class="row">
          <Button look="primary" type="submit" busy={conversation.busy}>
            {t('playground.send')}
          </Button>
          {conversation.busy ? <Button onClick={conversation.stop}>{t('playground.stop')}</Button> : null}
          <Button look="plain" onClick={conversation.clear} disabled={conversation.busy}>
            {t('playground.clear')}
          </Button>
        </div>
      </form>
      <SnippetPanel
        calls={sides.map((model, at) => ({
          path: '/chat/completions',
          method: 'chat.completions.create',
          // What was sent last, or what Send would send now.
          body: bodyOf((question === '' ? conversation.sent(at) : undefined) ?? toRequest(model, at)),
        }))}
      />
    </>
  );
}

const ModelField = ({
  label,
  models,
  value,
  name,
}: {
  label: string;
  models: readonly string[];
  value: string;
  name: string;
}) => (
  <SelectField
    label={label}
    value={value}
    onValue={(model) => navigate(hrefWith({ [name]: model }), { replace: true })}
    choices={models.map((model) => ({ value: model, label: model }))}
  />
);

/** The turns of both sides, and the answers that are on their way. */
function useConversation(settings: Settings) {
  const sent = useRef<[ChatRequest?, ChatRequest?]>([]);
  const turns = useRef<[readonly Turn[], readonly Turn[]]>([[], []]);
  const [, render] = useState(0);
  const [running, setRunning] = useState(0);
  const controller = useRef(new AbortController());

  const changeLast = (at: 0 | 1, changes: (turn: Turn) => Partial<Turn>): void => {
    const all = turns.current[at];
    const last = all.at(-1);
    if (last === undefined) return;
    turns.current[at] = [...all.slice(0, -1), { ...last, ...changes(last) }];
    render((count) => count + 1);
  };

  const askOne = async (at: 0 | 1, model: string, question: string): Promise<void> => {
    const request = requestOf(model, settings, turns.current[at], question);
    sent.current[at] = request;
    turns.current[at] = [
      ...turns.current[at],
      { question, answer: '', running: true, figures: undefined, error: undefined },
    ];
    setRunning((count) => count + 1);
    try {
      const figures = await streamChat(request, {
        signal: controller.current.signal,
        onText: (piece) => changeLast(at, ({ answer }) => ({ answer: answer + piece })),
      });
      changeLast(at, () => ({ figures }));
    } catch (error) {
      if (!controller.current.signal.aborted) changeLast(at, () => ({ error: toError(error) }));
    } finally {
      changeLast(at, () => ({ running: false }));
      setRunning((count) => count - 1);
    }
  };

  return {
    busy: running > 0,
    sent: (at: number): ChatRequest | undefined => sent.current[at === 0 ? 0 : 1],
    turnsOf: (at: number): readonly Turn[] => turns.current[at === 0 ? 0 : 1],
    ask(models: readonly string[], question: string): void {
      controller.current = new AbortController();
      sent.current = [];
      for (const [at, model] of models.entries()) void askOne(at === 0 ? 0 : 1, model, question);
    },
    stop: () => controller.current.abort(),
    clear(): void {
      turns.current = [[], []];
      sent.current = [];
      render((count) => count + 1);
    },
  };
}

const Transcript = ({ side: { model, turns } }: { side: Side }) => (
  <section class="transcript" aria-label={model} aria-live="polite">
    <h3 class="name">{model}</h3>
    {turns.length === 0 ? <p class="soft">{t('playground.empty')}</p> : null}
    {turns.map((turn, at) => (
      <div class="stack" key={at}>
        <div class="bubble user lines">{turn.question}</div>
        {turn.answer.trim() === '' ? null : <div class="bubble lines">{turn.answer}</div>}
        {turn.running && turn.answer === '' ? <p class="loading">{t('playground.waiting')}</p> : null}
        {turn.running || turn.answer.trim() !== '' || turn.error !== undefined ? null : (
          <p class="soft">{t('playground.no-answer')}</p>
        )}
        <ErrorNotice error={turn.error} />
        {turn.figures === undefined ? null : <p class="soft small">{describe(turn.figures)}</p>}
      </div>
    ))}
  </section>
);

const describe = ({ firstMs, totalMs, promptTokens, completionTokens, target }: Figures): string =>
  [
    formatMilliseconds(totalMs),
    ...(firstMs === undefined ? [] : [t('playground.first', { time: formatMilliseconds(firstMs) })]),
    ...(promptTokens === undefined || completionTokens === undefined
      ? []
      : [
          t('playground.tokens', {
            prompt: formatNumber(promptTokens),
            completion: formatNumber(completionTokens),
          }),
        ]),
    ...(target === undefined ? [] : [target]),
  ].join(' · ');
