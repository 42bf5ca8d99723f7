// What a person reads: help, tables, and one line for whatever was refused.

import { findOption } from './command-line.ts';
import { COMMANDS, type Command } from './commands.ts';
import { OPTIONS, type Option, type OptionName } from './options.ts';

export type Row = Record<string, unknown>;

const HEAD = `Usage: bun run admin <command> [options]

Works on the database that the environment names (see bun run start --help), whether the service runs or not.
Exit codes: 0 done, 1 refused or failed, 2 not understood.
`;

/** The help of one command, or of all. */
export function renderHelp(command: Command | undefined): string {
  const commands = command === undefined ? COMMANDS : [command];
  const names = new Set(commands.flatMap((each) => [...each.required, ...each.optional]));
  const lines = alignColumns(commands.map((each) => [`  ${renderSynopsis(each)}`, each.meaning]));
  const options = alignColumns([
    ...[...names].map((name) => [`  ${renderOption(name)}`, OPTIONS[name].meaning]),
    ['  --json', 'print the answer as JSON'],
    ['  --help', 'print this, or with a command, what is about that command'],
  ]);
  return [HEAD, 'Commands:', ...lines, '', 'Options:', ...options, ''].join('\n');
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

/** One thing's fields, a line each. */
export const renderFields = (row: Row): string =>
  `${alignColumns(Object.entries(row).map(([name, value]) => [name, renderValue(value)])).join('\n')}\n`;

/** The refusal of an operation in one line, with options for locations. */
export function renderRefusal(command: Command, body: unknown): string {
  const detail = (body as { detail?: unknown }).detail;
  if (!Array.isArray(detail)) return renderValue(detail);
  const mistakes = (detail as { loc: (string | number)[]; msg: string }[]).map(
    ({ loc, msg }) => `${findOption(command, loc) ?? loc.join('.')}: ${msg}`,
  );
  return renderValue(mistakes.join('; '));
}

/** Names come from elsewhere: nothing in them reaches the terminal but text. */
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
