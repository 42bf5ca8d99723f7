// XML as office documents have it. Names of elements are without their prefixes, those of
// attributes both with and without. Entities other than the five of XML itself are
// never expanded, and nothing outside of the text is read.

import { decodeText } from '../encoding.ts';
import { type Attributes, type MarkupHandlers, parseMarkup } from './markup.ts';
import type { Archive } from './zip.ts';

export type { Attributes } from './markup.ts';

export function parseXml(bytes: Uint8Array | undefined, { open, close, text }: MarkupHandlers): void {
  if (bytes === undefined) return;
  parseMarkup(decodeText(bytes), 'xml', {
    open: (name, attributes) => open?.(localName(name), localAttributes(attributes)),
    close: (name) => close?.(localName(name)),
    text: (data) => text?.(data),
  });
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

function localAttributes(attributes: Attributes): Attributes {
  const local: Record<string, string> = {};
  for (const [name, value] of Object.entries(attributes)) {
    local[name] = value;
    local[localName(name)] = value;
  }
  return local;
}

/** The targets of a part's relationships by their ids, as paths in the archive (OPC, ECMA-376 part 2). */
export function readRelationships(
  archive: Archive,
  part: string,
): Map<string, { type: string; path: string }> {
  const slash = part.lastIndexOf('/') + 1;
  const [folder, file] = [part.slice(0, slash), part.slice(slash)];
  const found = new Map<string, { type: string; path: string }>();
  parseXml(archive.read(`${folder}_rels/${file}.rels`), {
    open(name, { Id = '', Type = '', Target = '', TargetMode }) {
      if (name !== 'Relationship' || TargetMode === 'External') return;
      const path = resolvePath(Target, folder);
      if (path !== undefined) found.set(Id, { type: Type.slice(Type.lastIndexOf('/') + 1), path });
    },
  });
  return found;
}

/** Undefined for a target that is no path: one picture with an odd name spoils no document. */
function resolvePath(target: string, folder: string): string | undefined {
  try {
    return decodeURI(new URL(target, `file:///${folder}`).pathname).slice(1);
  } catch {
    return undefined;
  }
}

/** The part that a relationship of the package's root names, as `officeDocument`. */
export const mainPartOf = (archive: Archive): string | undefined =>
  readRelationships(archive, '')
    .values()
    .find(({ type }) => type === 'officeDocument')?.path;
