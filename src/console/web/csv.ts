/** One cell (RFC 4180). A text that a spreadsheet would take for a formula is marked as text. */
function toCell(value: string | number | null): string {
  if (typeof value === 'number') return String(value);
  const text = value ?? '';
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

export const toCsv = (rows: readonly (readonly (string | number | null)[])[]): string =>
  rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('');

/** Lets the browser save a text under this name. */
export function save(name: string, text: string, mediaType: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: mediaType }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** Rows of fields (RFC 4180): a quoted field may hold separators, line breaks and doubled quotes. */
export function parseCsv(text: string, separator: string): string[][] {
  const rows: string[][] = [[]];
  let field = '';
  let quoted = false;
  const endField = (): void => {
    rows.at(-1)?.push(field);
    field = '';
  };
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? '';
    if (quoted) {
      if (sign !== '"') field += sign;
      else if (text[at + 1] === '"') {
        field += '"';
        at++;
      } else quoted = false;
    } else if (sign === '"' && field === '') quoted = true;
    else if (sign === separator) endField();
    else if (sign === '\n') {
      endField();
      rows.push([]);
    } else if (sign !== '\r') field += sign;
  }
  endField();
  return rows.filter((row) => row.length > 1 || row[0] !== '');
}
