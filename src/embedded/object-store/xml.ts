// Writes the XML documents of the protocol.

export const S3_NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';
const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** A piece of XML, as opposed to text that is still to be escaped. */
export interface Xml {
  readonly xml: string;
}

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
