/** PostgreSQL's text form of arrays (manual, section 8.15.6). */

/** Reads `{a,"b,c",NULL,{…}}`. Elements other than NULL go through `parseElement`. */
export function parseArray(text: string, parseElement: (text: string) => unknown): unknown[] {
  // Bounds that do not start at 1 come first: [2:3]={…}
  let position = text.indexOf('{');
  const readElement = (): unknown => {
    if (text[position] === '{') return readArray();
    if (text[position] === '"') return parseElement(readQuoted());
    const start = position;
    while (position < text.length && text[position] !== ',' && text[position] !== '}') position += 1;
    const bare = text.slice(start, position);
    return bare === 'NULL' ? null : parseElement(bare);
  };
  const readQuoted = (): string => {
    let value = '';
    for (position += 1; position < text.length && text[position] !== '"'; position += 1) {
      if (text[position] === '\\') position += 1;
      value += text[position];
    }
    position += 1;
    return value;
  };
  const readArray = (): unknown[] => {
    const elements: unknown[] = [];
    position += 1;
    while (position < text.length && text[position] !== '}') {
      elements.push(readElement());
      if (text[position] === ',') position += 1;
    }
    position += 1;
    return elements;
  };
  return readArray();
}

/** Writes what `parseArray` reads. Every element is quoted, so that none can pass for syntax. */
export function renderArray(elements: readonly unknown[], renderElement: (value: unknown) => string): string {
  const rendered = elements.map((element) => {
    if (element === null || element === undefined) return 'NULL';
    if (Array.isArray(element)) return renderArray(element, renderElement);
    return `"${renderElement(element).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  });
  return `{${rendered.join(',')}}`;
}
