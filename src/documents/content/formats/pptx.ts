// Presentations of Office Open XML (ECMA-376): slides in their order, their titles, tables and notes.

import type { Outline } from '../outline.ts';
import { isBroken } from '../unreadable.ts';
import { mainPartOf, parseXml, readRelationships } from './xml.ts';
import type { Archive } from './zip.ts';

const TITLES = new Set(['title', 'ctrTitle']);
/** Placeholders that repeat on every slide. */
const REPEATED = new Set(['sldNum', 'ftr', 'dt', 'hdr', 'sldImg']);

export function readPptx(archive: Archive, outline: Outline): void {
  const main = mainPartOf(archive) ?? 'ppt/presentation.xml';
  const presentation = archive.read(main);
  if (presentation === undefined) throw isBroken('the file has no presentation');
  const related = readRelationships(archive, main);
  const slides = new Set<string>();
  parseXml(presentation, {
    open(name, attributes) {
      if (name !== 'sldId') return;
      // It has two attributes called `id`, of which one is that of a relationship.
      const path = Object.values(attributes).flatMap((value) => related.get(value)?.path ?? [])[0];
      if (path !== undefined) slides.add(path);
    },
  });
  for (const slide of slides) {
    outline.page();
    outline.section([]);
    readShapes(archive.read(slide), outline);
    const notes = readRelationships(archive, slide)
      .values()
      .find(({ type }) => type === 'notesSlide');
    if (notes !== undefined) readShapes(archive.read(notes.path), outline);
  }
}

function readShapes(bytes: Uint8Array | undefined, outline: Outline): void {
  let placeholder = '';
  let text = '';
  let title = '';
  let inText = false;
  let level = 0;
  let row: string[] | undefined;
  let cell = '';

  const endParagraph = (): void => {
    if (row !== undefined) cell += `${text} `;
    else if (TITLES.has(placeholder)) title += `${text} `;
    else if (!REPEATED.has(placeholder)) {
      if (placeholder === 'body' && level > 0) outline.item(level, text);
      else outline.paragraph(text);
    }
    text = '';
  };
  parseXml(bytes, {
    open(name, attributes) {
      if (name === 'sp' || name === 'graphicFrame') placeholder = '';
      else if (name === 'ph') placeholder = attributes['type'] ?? 'body';
      else if (name === 'pPr') level = Number(attributes['lvl'] ?? 0) || 0;
      else if (name === 'p') level = 0;
      else if (name === 't') inText = true;
      else if (name === 'br') text += '\n';
      else if (name === 'tbl') outline.interrupt();
      else if (name === 'tr') row = [];
      else if (name === 'tc') cell = '';
    },
    close(name) {
      if (name === 't') inText = false;
      else if (name === 'p') endParagraph();
      else if (name === 'tc') row?.push(cell);
      else if (name === 'tr') {
        outline.row(row ?? []);
        row = undefined;
      } else if (name === 'sp' && title !== '') {
        outline.heading(1, title);
        title = '';
      }
    },
    text(data) {
      if (inText) text += data;
    },
  });
}
