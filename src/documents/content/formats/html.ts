// HTML: the text that a browser shows, in its structure. Nothing of it is run or fetched.

import type { Outline } from '../outline.ts';
import { parseMarkup } from './markup.ts';

const namesOf = (names: string): ReadonlySet<string> => new Set(names.split(' '));

/** Elements whose content is not shown, or is no content of the page. */
const HIDDEN = namesOf(
  'script style noscript template svg annotation annotation-xml nav select object iframe',
);
const LISTS = namesOf('ul ol menu');
const CELLS = namesOf('td th');
/** Elements that begin and end a block of text. */
const BLOCKS = namesOf(
  'p div section article main aside header footer address blockquote figure figcaption ul ol menu li dl dt dd table caption ' +
    'tr form fieldset hr body title details summary pre h1 h2 h3 h4 h5 h6',
);

/** What an element of a page adds to the outline; the language that the page names is returned. */
export function readHtml(html: string, outline: Outline): string | undefined {
  let language: string | undefined;
  let text = '';
  let hidden = 0;
  let preformatted = 0;
  let lists = 0;
  let inItem = false;
  let heading = 0;
  /** The row that is being read, undefined outside of one. */
  let row: string[] | undefined;

  const flush = (): void => {
    const [said, wasItem] = [text, inItem];
    text = '';
    if (said.trim() === '') return;
    inItem = false;
    if (heading > 0) outline.heading(heading, said);
    else if (preformatted > 0) outline.lines(said);
    else if (wasItem) outline.item(Math.max(0, lists - 1), said);
    else outline.paragraph(said);
  };
  const endRow = (): void => {
    if (row !== undefined) outline.row(row);
    row = undefined;
    text = '';
  };
  const open = (name: string): void => {
    if (row === undefined && (BLOCKS.has(name) || CELLS.has(name))) flush();
    if (HIDDEN.has(name)) hidden++;
    else if (LISTS.has(name)) lists++;
    else if (name === 'li') inItem = row === undefined;
    else if (name === 'pre') preformatted++;
    else if (name === 'br') text += '\n';
    else if (name === 'tr') {
      endRow();
      row = [];
    } else if (name === 'table' && row === undefined) outline.interrupt();
    else if (CELLS.has(name)) text = '';
    else if (row !== undefined && BLOCKS.has(name)) text += ' ';
    else heading = headingOf(name) ?? heading;
  };
  const close = (name: string): void => {
    if (CELLS.has(name) && row !== undefined) {
      row.push(text);
      text = '';
    } else if (name === 'tr' || name === 'table') endRow();
    else if (row === undefined && BLOCKS.has(name)) flush();
    if (HIDDEN.has(name)) hidden = Math.max(0, hidden - 1);
    else if (LISTS.has(name)) lists = Math.max(0, lists - 1);
    else if (name === 'pre') preformatted = Math.max(0, preformatted - 1);
    else if (headingOf(name) !== undefined) heading = 0;
  };

  parseMarkup(html, 'html', {
    open(name, attributes) {
      if (name === 'html') language ??= attributes['lang'];
      open(name);
    },
    close,
    text(data) {
      if (hidden > 0) return;
      text += preformatted > 0 ? data : data.replaceAll(/\s+/g, ' ');
    },
  });
  flush();
  return language;
}

/** 1 to 6; a page's title stands above all. */
const headingOf = (name: string): number | undefined =>
  name === 'title' ? 1 : /^h[1-6]$/.test(name) ? Number(name[1]) : undefined;

/** The encoding that a page names in its first bytes. */
export function declaredEncodingOf(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 4096));
  return /<meta[^>]{0,200}?charset\s*=\s*["']?([\w-]+)/i.exec(start)?.[1];
}
