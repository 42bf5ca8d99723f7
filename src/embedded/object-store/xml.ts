// Writes the XML documents of the protocol, and reads the one that clients send: the body of DeleteObjects.
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import type { Removal } from './catalogue.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { assertKey } from './request.ts';

export const S3_NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';
const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** A piece of XML, as opposed to text that is still to be escaped. */
export type Xml = { xml: string };

/** One element around text (escaped here) or other elements. */
export function element(name: string, content: string | number | boolean | readonly Xml[]): Xml {
  const inner = Array.isArray(content)
    ? content.map((child: Xml) => child.xml).join('')
    : escapeText(String(content));
  return { xml: `<${name}>${inner}</${name}>` };
}

/** A whole document; `namespace` is set on the root where S3 sets it. */
export function renderDocument(root: string, children: readonly Xml[], namespace = ''): string {
  const attribute = namespace === '' ? '' : ` xmlns="${namespace}"`;
  return `${DECLARATION}<${root}${attribute}>${children.map((child) => child.xml).join('')}</${root}>`;
}

/** Control characters become references as S3 sends them, \r too: a parser would read it as \n. */
function escapeText(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must be escaped
    /[&<>"\u0000-\u001f\u007f\ufffe\uffff]/g,
    (character) => NAMED[character] ?? `&#x${character.charCodeAt(0).toString(16)};`,
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Text stays text, blanks included; entities are left alone here: a document must not define its own. */
const parser = new XMLParser({
  ignoreAttributes: true,
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
  isArray: (name) => name === 'Object',
});

/** Throws MalformedXML, also for a DOCTYPE or over 1000 keys. */
export function parseDeleteDocument(document: string) {
  if (/<!doctype/i.test(document) || XMLValidator.validate(document) !== true)
    throw new S3Error('MalformedXML');
  const root = childOf(parser.parse(document), 'Delete');
  const objects = childOf(root, 'Object');
  if (!Array.isArray(objects) || objects.length > limits.deleteKeysMax) throw new S3Error('MalformedXML');
  const removals = objects.map((object: unknown): Removal => {
    const key = textOf(object, 'Key');
    if (key === undefined) throw new S3Error('MalformedXML');
    assertKey(key);
    const version = textOf(object, 'VersionId');
    const etag = textOf(object, 'ETag')?.replaceAll('"', '');
    return { key, ...(version === undefined ? {} : { version }), ...(etag === undefined ? {} : { etag }) };
  });
  const quiet = childOf(root, 'Quiet');
  return { removals, isQuiet: typeof quiet === 'string' && quiet.trim() === 'true' };
}

const childOf = (node: unknown, name: string): unknown =>
  typeof node === 'object' && node !== null ? Reflect.get(node, name) : undefined;

/** Undefined where there is no such element. Throws MalformedXML where it holds anything but text. */
function textOf(node: unknown, name: string): string | undefined {
  const text = childOf(node, name);
  if (text === undefined) return undefined;
  if (typeof text !== 'string') throw new S3Error('MalformedXML');
  return decodeEntities(text);
}

/** The five entities of XML and character references; anything else is not well-formed without a DTD. */
function decodeEntities(text: string): string {
  return text.replace(/&([^;]*);?/g, (whole, name: string) => {
    const named = ENTITIES[name];
    if (named !== undefined && whole.endsWith(';')) return named;
    const [, hex, decimal] = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name) ?? [];
    const code = hex !== undefined ? Number.parseInt(hex, 16) : Number(decimal ?? Number.NaN);
    if (!whole.endsWith(';') || Number.isNaN(code) || code > 0x10ffff) throw new S3Error('MalformedXML');
    return String.fromCodePoint(code);
  });
}
