// Text documents of Office Open XML (ECMA-376): headings by style, lists, tables, notes.

import type { Outline } from '../outline.ts';
import { isBroken } from '../unreadable.ts';
import { mainPartOf, parseXml, readRelationships } from './xml.ts';
import type { Archive } from './zip.ts';

type Styles = { levels: ReadonlyMap<string, number>; language: string | undefined };

/** Contents that the page does not show, or shows twice. */
const HIDDEN = new Set(['Fallback', 'del', 'moveFrom', 'instrText', 'delText']);

/** Returns the language of the document's default style. */
export function readDocx(archive: Archive, outline: Outline): string | undefined {
  const main = mainPartOf(archive) ?? 'word/document.xml';
  const body = archive.read(main);
  if (body === undefined) throw isBroken('the file has no document');
  const related = [...readRelationships(archive, main).values()];
  const pathOf = (type: string): string | undefined => related.find((each) => each.type === type)?.path;
  const styles = readStyles(archive.read(pathOf('styles') ?? ''));
  readStory(body, outline, styles);
  for (const notes of ['footnotes', 'endnotes', 'comments']) {
    outline.interrupt();
    readStory(archive.read(pathOf(notes) ?? ''), outline, styles);
  }
  return styles.language;
}

function readStyles(bytes: Uint8Array | undefined): Styles {
  const levels = new Map<string, number>();
  let language: string | undefined;
  let style = '';
  parseXml(bytes, {
    open(name, attributes) {
      const { val = '' } = attributes;
      if (name === 'style') style = attributes['styleId'] ?? '';
      else if (name === 'lang') language ??= val;
      else if (name === 'name' && /^(heading [1-9]|title)$/i.test(val)) levels.set(style, toLevel(val));
      else if (name === 'basedOn' && levels.has(val) && !levels.has(style))
        levels.set(style, levels.get(val) ?? 1);
      else if (name === 'outlineLvl' && Number(val) < 9 && style !== '') levels.set(style, Number(val) + 1);
    },
  });
  return { levels, language };
}

const toLevel = (name: string): number => Number(/\d$/.exec(name)?.[0] ?? 1);

function readStory(bytes: Uint8Array | undefined, outline: Outline, { levels }: Styles): void {
  let text = '';
  let level = 0;
  let item: number | undefined;
  let hidden = 0;
  let inText = false;
  let tables = 0;
  let row: string[] = [];
  let cell = '';

  const endParagraph = (): void => {
    if (tables > 0) cell += `${text} `;
    else if (level > 0) outline.heading(level, text);
    else if (item !== undefined) outline.item(item, text);
    else outline.paragraph(text);
    text = '';
  };
  const open = (name: string, attributes: Record<string, string | undefined>): void => {
    const { val = '' } = attributes;
    if (HIDDEN.has(name)) hidden++;
    else if (name === 'p') {
      text = '';
      level = 0;
      item = undefined;
    } else if (name === 'pStyle') level = levels.get(val) ?? 0;
    else if (name === 'outlineLvl' && Number(val) < 9) level = Number(val) + 1;
    else if (name === 'ilvl') item = Number(val) || 0;
    else if (name === 't') inText = true;
    else if (name === 'tab') text += '\t';
    else if (name === 'br' || name === 'cr') text += '\n';
    else if (name === 'noBreakHyphen') text += '-';
    else if (name === 'tbl' && ++tables === 1) outline.interrupt();
    else if (name === 'tr' && tables === 1) row = [];
    else if (name === 'tc' && tables === 1) cell = '';
  };
  const close = (name: string): void => {
    if (HIDDEN.has(name)) hidden--;
    else if (name === 't') inText = false;
    else if (name === 'p') endParagraph();
    else if (name === 'tc' && tables === 1) row.push(cell);
    else if (name === 'tr' && tables === 1) outline.row(row);
    else if (name === 'tbl') tables--;
  };
  parseXml(bytes, {
    open,
    close,
    text(data) {
      if (inText && hidden === 0) text += data;
    },
  });
}
