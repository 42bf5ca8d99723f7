// The output for people: help, tables, and refusals in one line.

import { findOption } from './command-line.ts';
import { COMMANDS, type Command, GROUPS } from './commands.ts';
import { OPTIONS, type Option, type OptionName } from './options.ts';

export type Row = Record<string, unknown>;

const HEAD = `Usage: bun run admin <command> [options]

Works on the database that the environment names (see bun run start --help), whether the service runs or not.
Exit codes: 0 done, 1 refused or failed, 2 not understood.
`;

const MORE = `The options of commands: bun run admin <group> --help, such as bun run admin keys --help
With --json every command prints its answer as JSON.`;

/** The help of one command, of a group, or of all; only the first two list the options. */
export function renderHelp(about: Command | string | undefined): string {
  if (about === undefined) return [HEAD, ...Object.keys(GROUPS).flatMap(renderGroup), MORE, ''].join('\n');
  const commands = typeof about === 'string' ? commandsOf(about) : [about];
  const [first] = commands;
  const { example } = GROUPS[first?.words.split(' ')[0] ?? ''] ?? { example: '' };
  const shows = commands.some(({ words }) => example.startsWith(`${words} `));
  const names = new Set(commands.flatMap((each) => [...each.required, ...each.optional]));
  const lines = alignColumns(commands.map((each) => [`  ${renderSynopsis(each)}`, each.meaning]));
  const options = alignColumns([
    ...[...names].map((name) => [`  ${renderOption(name)}`, OPTIONS[name].meaning]),
    ['  --json', 'print the answer as JSON'],
    ['  --help', 'print this help, or that of one command'],
  ]);
  return [
    HEAD,
    'Commands:',
    ...lines,
    '',
    'Options:',
    ...options,
    '',
    ...(shows ? ['Example:', `  bun run admin ${example}`, ''] : []),
  ].join('\n');
}

const commandsOf = (group: string): Command[] =>
  COMMANDS.filter(({ words }) => words.split(' ')[0] === group);

function renderGroup(name: string): string[] {
  const lines = commandsOf(name).map((each) => [`  ${renderSynopsis(each)}`, each.meaning]);
  const { meaning, example } = GROUPS[name] ?? { meaning: '', example: '' };
  return [`${name}: ${meaning}`, ...alignColumns(lines), `  For example: bun run admin ${example}`, ''];
}

function renderSynopsis({ words, argument, required, optional }: Command): string {
  const parts = [
    words,
    ...(argument === undefined ? [] : [`<${argument.value}>`]),
    ...required.map(renderOption),
    ...(optional.length > 0 ? ['[options]'] : []),
  ];
  return parts.join(' ');
}

function renderOption(name: OptionName): string {
  const option: Option = OPTIONS[name];
  return option.value === undefined ? `--${name}` : `--${name} <${option.value}>`;
}

/** Rows under the headings of their fields; a sentence when there are none. */
export function renderTable(rows: readonly Row[]): string {
  const [first] = rows;
  if (first === undefined) return 'There are none.\n';
  const columns = Object.keys(first);
  const cells = rows.map((row) => columns.map((column) => renderValue(row[column])));
  return `${alignColumns([columns, ...cells]).join('\n')}\n`;
}

/** One page of a list, and how the next one is asked for. */
export const renderPage = (rows: readonly Row[], cursor: string | null | undefined): string =>
  renderTable(rows) + (typeof cursor === 'string' ? `More with --cursor ${cursor}\n` : '');

/** Sums of groups under the headings of their fields, and their total. */
export function renderSums(items: readonly Row[], total: Row): string {
  const columns = Object.keys(items[0] ?? {});
  const last = Object.fromEntries(columns.map((name) => [name, name === 'group' ? 'total' : total[name]]));
  return renderTable(items.length === 0 ? [] : [...items, last]);
}

export const renderFields = (row: Row): string =>
  `${alignColumns(Object.entries(row).map(([name, value]) => [name, renderValue(value)])).join('\n')}\n`;

/** The refusal of an operation in one line, which names options instead of locations. */

export function renderRefusal(command: Command, detail: unknown): string {
  if (!Array.isArray(detail)) return renderValue(detail);
  const { argument } = command;
  const mistakes = (detail as { type: string; loc: (string | number)[]; msg: string }[]).map(
    ({ type, loc, msg }) => {
      const name = findOption(command, loc) ?? loc.join('.');
      const isForm =
        type === 'string_pattern_mismatch' && argument?.form !== undefined && name === `<${argument.value}>`;
      return `${name}: ${isForm ? `expected ${argument?.form}` : msg}`;
    },
  );
  return renderValue(mistakes.join('; '));
}

/** Replaces control characters, because names from users must not control the terminal. */
function renderValue(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.map(renderValue).join(',');
  if (typeof value !== 'object') return String(value).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
  return (
    Object.entries(value)
      .map(([name, item]) => `${name}=${renderValue(item)}`)
      .join(',') || '-'
  );
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
