import type { Citation } from '../turn.ts';

/** An answer with a line for each source, for chat apps, which have no other place for citations. */
export const withSources = (answer: string, citations: readonly Citation[]): string =>
  citations.length === 0 ? answer : `${answer}\n\n${[...new Set(citations.map(renderSource))].join('\n')}`;

const renderSource = ({ number, name, page }: Citation): string =>
  `${number === null ? '•' : `[${number}]`} ${inOneLine(name)}${page === null ? '' : `, p. ${page}`}`;

/** Without the characters that chat apps make links of. */
const inOneLine = (name: string): string => name.replaceAll(/[\p{Cc}\u2028\u2029<>]/gu, ' ');
