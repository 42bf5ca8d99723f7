import { CallError } from './api.ts';
import { ErrorNotice, Loading } from './components/notice.tsx';
import { parseCsv } from './csv.ts';
import { type Document, urlOf } from './library-data.ts';
import { Markdown } from './markdown.tsx';
import { useResource } from './resource.ts';
import { t } from './text.ts';

const IMAGES = new Set(['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif']);
const TEXTS = new Set([
  'txt',
  'json',
  'yaml',
  'yml',
  'xml',
  'html',
  'log',
  'ts',
  'js',
  'py',
  'sh',
  'sql',
  'toml',
]);
const MARKDOWN = new Set(['md', 'markdown']);
const TABLES = new Set(['csv', 'tsv']);

const SHOWN_BYTES = 65_536;
const SHOWN_ROWS = 50;

/** Types that the browser shows in a tab of its own. */
const SHOWN_BY_BROWSER = new Set(['pdf', 'txt', 'mp4', 'webm', 'mp3', 'm4a', 'ogg', 'wav', ...IMAGES]);

export const opensInBrowser = ({ file_type: type }: Document): boolean => SHOWN_BY_BROWSER.has(type ?? '');

/** The beginning of a file, as text, so that no markup in it takes effect. */
export function Preview({ document }: { document: Document }) {
  const type = document.file_type ?? '';
  if (IMAGES.has(type)) return <ImagePreview document={document} />;
  if (TEXTS.has(type) || MARKDOWN.has(type) || TABLES.has(type)) return <TextPreview document={document} />;
  return null;
}

function ImagePreview({ document }: { document: Document }) {
  const url = useResource(() => urlOf(document.id, 'inline'), [document.id]);
  if (url.data === undefined) return <ErrorNotice error={url.error} />;
  return <img class="preview" src={url.data} alt={document.name} />;
}

async function readBeginning(id: string): Promise<string> {
  // Whatever its type: what fetch reads is not shown by the browser itself.
  const url = await urlOf(id, 'attachment');
  const answer = await fetch(url, { headers: { range: `bytes=0-${SHOWN_BYTES - 1}` } }).catch(() => {
    throw new CallError(0, t('upload.blocked', { store: new URL(url).origin }));
  });
  // An empty file has no range.
  if (answer.status === 416) return '';
  if (!answer.ok)
    throw new CallError(answer.status, t('upload.refused', { status: answer.status, message: '' }));
  return answer.text();
}

function TextPreview({ document }: { document: Document }) {
  const text = useResource(() => readBeginning(document.id), [document.id]);
  if (text.data === undefined)
    return text.error === undefined ? <Loading /> : <ErrorNotice error={text.error} />;
  const type = document.file_type ?? '';
  if (TABLES.has(type)) {
    const rows = parseCsv(text.data, type === 'tsv' ? '\t' : ',').slice(0, SHOWN_ROWS);
    return <CsvTable rows={rows} name={document.name} />;
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
    <section class="preview" tabIndex={0} aria-label={document.name}>
      {MARKDOWN.has(type) ? <Markdown text={text.data} /> : <pre>{text.data}</pre>}
    </section>
  );
}

const CsvTable = ({ rows, name }: { rows: readonly (readonly string[])[]; name: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
  <section class="preview table-frame" tabIndex={0} aria-label={name}>
    <table class="table plain">
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {row.map((cell, column) => (
              <td key={column}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);
