// Elements, attributes and text of HTML and XML, in time that grows with the length of the text alone: an end tag is looked for
// among the open elements only if one of its name is open, and then every element above it ends with it.

import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { ELEMENT_ATTRIBUTES_MAX, ELEMENTS_OPEN_MAX } from '../limits.ts';
import { isBroken } from '../unreadable.ts';

export type Attributes = Readonly<Record<string, string>>;
export type MarkupHandlers = {
  open?(name: string, attributes: Attributes): void;
  close?(name: string): void;
  text?(text: string): void;
};

/** Characters that are tokenized at a time: what a token still holds of the text is no more than that. */
const STEP_LENGTH = 1_048_576;

const namesOf = (names: string): ReadonlySet<string> => new Set(names.split(' '));

/** HTML elements that have no content and no end tag. */
const VOID = namesOf(
  'area base basefont br col command embed frame hr image img input isindex keygen link meta param source track wbr',
);

/** HTML elements that end open ones when they begin: a page may leave out the end tags. */
const ENDED_BY = new Map<string, ReadonlySet<string>>([
  ['tr', namesOf('tr th td')],
  ['th', namesOf('th td')],
  ['td', namesOf('th td')],
  ['tbody', namesOf('thead tbody tr th td')],
  ['tfoot', namesOf('thead tbody tr th td')],
  ['body', namesOf('head')],
  ['li', namesOf('li')],
  ['dd', namesOf('dd dt')],
  ['dt', namesOf('dd dt')],
  ['rt', namesOf('rt rp')],
  ['rp', namesOf('rt rp')],
  ['option', namesOf('option')],
  ['optgroup', namesOf('option optgroup')],
]);
const HEADINGS = namesOf('h1 h2 h3 h4 h5 h6');
for (const name of HEADINGS) ENDED_BY.set(name, HEADINGS.union(namesOf('p')));
for (const name of namesOf(
  'p address article aside blockquote details div dl fieldset figcaption figure footer form header hr main nav ol pre section table ul',
))
  ENDED_BY.set(name, namesOf('p'));

/**
 * Calls the handlers for each element and text, in order; elements that are left open end with the text. Throws Unreadable where
 * too many are open.
 */
export function parseMarkup(text: string, dialect: 'html' | 'xml', handlers: MarkupHandlers): void {
  const html = dialect === 'html';
  const tokenizer = new Tokenizer(
    { xmlMode: !html, decodeEntities: true },
    createElements(text, html, handlers),
  );
  for (let at = 0; at < text.length; at += STEP_LENGTH) tokenizer.write(text.slice(at, at + STEP_LENGTH));
  tokenizer.end();
}

/** From tokens, which are places in the text, to elements. */
function createElements(text: string, html: boolean, handlers: MarkupHandlers): TokenizerCallbacks {
  const { begin, endAll, endNamed, isOpen } = createStack(html, handlers);
  let tag = '';
  let attributes: Record<string, string> = {};
  let attributesLeft = 0;
  let attribute = '';
  let value = '';

  const nameAt = (start: number, end: number): string =>
    html ? text.slice(start, end).toLowerCase() : text.slice(start, end);
  const addText = (start: number, end: number): void => handlers.text?.(text.slice(start, end));
  const isForeign = (): boolean => html && (isOpen('svg') || isOpen('math'));
  return {
    isInForeignContext: isForeign,
    onopentagname(start, end) {
      tag = nameAt(start, end);
      attributes = {};
      attributesLeft = ELEMENT_ATTRIBUTES_MAX;
    },
    onattribname(start, end) {
      attribute = nameAt(start, end);
      value = '';
    },
    onattribdata: (start, end) => (value += text.slice(start, end)),
    onattribentity: (code) => (value += String.fromCodePoint(code)),
    onattribend() {
      if (attributesLeft-- > 0 && !Object.hasOwn(attributes, attribute)) attributes[attribute] = value;
    },
    onopentagend: () => begin(tag, attributes, false),
    onselfclosingtag: () => begin(tag, attributes, !html || isForeign()),
    onclosetag: (start, end) => endNamed(nameAt(start, end)),
    ontext: addText,
    ontextentity: (code) => handlers.text?.(String.fromCodePoint(code)),
    oncdata(start, end, offset) {
      if (!html || isForeign()) addText(start, end - offset);
    },
    oncomment: () => undefined,
    ondeclaration: () => undefined,
    onprocessinginstruction: () => undefined,
    onend: endAll,
  };
}

/** The open elements. */
function createStack(html: boolean, handlers: MarkupHandlers) {
  /** Their names, the outermost first, and how many of each name are open. */
  const names: string[] = [];
  const counts = new Map<string, number>();
  const endLast = (): void => {
    const name = names.pop() ?? '';
    const left = (counts.get(name) ?? 1) - 1;
    if (left === 0) counts.delete(name);
    else counts.set(name, left);
    handlers.close?.(name);
  };
  return {
    isOpen: (name: string): boolean => counts.has(name),
    begin(name: string, attributes: Attributes, isEmpty: boolean): void {
      const ended = html ? ENDED_BY.get(name) : undefined;
      while (ended?.has(names.at(-1) ?? '') === true) endLast();
      handlers.open?.(name, attributes);
      if (isEmpty || (html && VOID.has(name))) {
        handlers.close?.(name);
        return;
      }
      if (names.length >= ELEMENTS_OPEN_MAX)
        throw isBroken(`more than ${ELEMENTS_OPEN_MAX} elements are left open`);
      names.push(name);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
    endNamed(name: string): void {
      if (counts.has(name)) {
        while (names.at(-1) !== name) endLast();
        endLast();
      } else if (html && (name === 'p' || name === 'br')) {
        // A browser takes such an end tag for a whole element.
        handlers.open?.(name, {});
        handlers.close?.(name);
      }
    },
    endAll(): void {
      while (names.length > 0) endLast();
    },
  };
}
