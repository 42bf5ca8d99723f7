// Markdown as elements, for previews: headings, paragraphs, lists, quotes, code, emphasis and links. What else it holds, HTML among it,
// is shown as the text that it is; nothing of it is loaded or runs.

import type { ComponentChildren } from 'preact';

type Block = {
  kind: 'heading' | 'text' | 'list' | 'numbers' | 'quote' | 'code';
  lines: string[];
  level: number;
};

const STARTS: [Block['kind'], RegExp][] = [
  ['heading', /^(#{1,6})\s+/],
  ['list', /^\s*[-*+]\s+/],
  ['numbers', /^\s*\d{1,9}[.)]\s+/],
  ['quote', /^\s*>\s?/],
];

/** Lines that belong together; an item of a list goes on until the next one or an empty line. */
function toBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  let fence: string | undefined;
  const begin = (kind: Block['kind'], lines: string[], level = 0): void => {
    open = { kind, lines, level };
    blocks.push(open);
  };
  for (const line of text.split(/\r?\n/)) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) === true) [fence, open] = [undefined, undefined];
      else open?.lines.push(line);
      continue;
    }
    if (mark !== undefined) {
      fence = mark;
      begin('code', []);
      continue;
    }
    if (line.trim() === '') {
      open = undefined;
      continue;
    }
    const [kind, start] = STARTS.find(([, each]) => each.test(line)) ?? ['text', /^/];
    const level = start.exec(line)?.[1]?.length ?? 0;
    const rest = line.replace(start, '');
    if (kind === 'text' && open !== undefined) open.lines.push(`${open.lines.pop() ?? ''}\n${line.trim()}`);
    else if (kind === open?.kind && kind !== 'heading') open.lines.push(rest);
    else begin(kind, [rest], level);
    if (kind === 'heading') open = undefined;
  }
  return blocks;
}

/** A label contains no bracket, and a URL has 2,000 characters at most, so that the search takes time in proportion to the text. */
const INLINE =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|__([^_\n]+)__|\*([^*\s][^*\n]*)\*|!?\[([^[\]\n]*)\]\((https?:\/\/[^\s)]{1,2000})\)/g;

/** Code, emphasis, and links to pages; an image is a link to it. */
export function toInline(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, code, strong, alsoStrong, em, label, url] = found;
    parts.push(text.slice(end, found.index));
    end = found.index + whole.length;
    if (code !== undefined) parts.push(<code>{code}</code>);
    else if (em !== undefined) parts.push(<em>{em}</em>);
    else if (url === undefined) parts.push(<strong>{strong ?? alsoStrong}</strong>);
    else
      parts.push(
        <a href={url} target="_blank" rel="noreferrer">
          {label || url}
        </a>,
      );
  }
  return [...parts, text.slice(end)];
}

const toItems = (lines: readonly string[]) => lines.map((line, at) => <li key={at}>{toInline(line)}</li>);

function BlockView({ of: { kind, lines, level } }: { of: Block }) {
  switch (kind) {
    case 'heading':
      return <p class={`md-heading ${level < 3 ? 'large' : ''}`}>{toInline(lines.join('\n'))}</p>;
    case 'list':
      return <ul>{toItems(lines)}</ul>;
    case 'numbers':
      return <ol>{toItems(lines)}</ol>;
    case 'quote':
      return <blockquote>{toInline(lines.join('\n'))}</blockquote>;
    case 'code':
      return <pre>{lines.join('\n')}</pre>;
    default:
      return <p>{toInline(lines.join('\n'))}</p>;
  }
}

export const Markdown = ({ text }: { text: string }) => (
  <>
    {toBlocks(text).map((block, at) => (
      <BlockView key={at} of={block} />
    ))}
  </>
);
