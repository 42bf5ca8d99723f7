import { parseArgs } from 'node:util';
import { COMMANDS, type Command } from './commands.ts';
import { OPTIONS, type Option, type OptionName, type Place } from './options.ts';

/** A command line that no command understands; the message is one line. */
export class UsageError extends Error {}

export type Invocation = {
  command: Command;
  /** The operation's path parameters. */
  path: Record<string, string>;
  /** Undefined where nothing goes into it. */
  body: Record<string, unknown> | undefined;
  json: boolean;
};

/** What was typed: something to do, or a question about all commands or one. */
export type CommandLine = Invocation | { help: Command | undefined };

/** Reads the command line. Spans of time count from `now`. Throws UsageError. */
export function parseCommandLine(words: readonly string[], now: Date): CommandLine {
  const [area = '', verb = '', ...rest] = words;
  const asksForHelp =
    words.length === 0 || words.includes('--help') || words.includes('-h') || area === 'help';
  const command = COMMANDS.find((each) => each.words === `${area} ${verb}`);
  if (asksForHelp) return { help: command };
  if (command === undefined)
    throw new UsageError(`there is no command "${`${area} ${verb}`.trim()}"; see --help`);
  const { values, positionals } = parseOptions(command, rest);
  const { json, ...given } = values;
  const placed = place(command, { given, argument: readArgument(command, positionals), now });
  return { command, ...placed, json: json === true };
}

type Values = Record<string, string | boolean | undefined>;

function parseOptions(command: Command, words: string[]): { values: Values; positionals: string[] } {
  const names = [...command.required, ...command.optional];
  const types = names.map((name) => [name, { type: isFlag(name) ? 'boolean' : 'string' }] as const);
  const options = { ...Object.fromEntries(types), json: { type: 'boolean' } } as const;
  let parsed: { values: Values; positionals: string[] };
  try {
    parsed = parseArgs({ args: words, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error));
  }
  for (const name of command.required) {
    if (parsed.values[name] === undefined) throw new UsageError(`${command.words} needs --${name}`);
  }
  if (parsed.values['enable'] === true && parsed.values['disable'] === true) {
    throw new UsageError('--enable and --disable exclude each other');
  }
  return parsed;
}

const isFlag = (name: OptionName): boolean => optionOf(name).value === undefined;
const optionOf = (name: OptionName): Option => OPTIONS[name];

function readArgument({ words, argument }: Command, positionals: string[]): string | undefined {
  const [first, ...others] = positionals;
  if (argument !== undefined && first === undefined)
    throw new UsageError(`${words} needs a <${argument.value}>`);
  const unexpected = argument === undefined ? first : others[0];
  if (unexpected !== undefined) throw new UsageError(`${words} does not take "${unexpected}"`);
  return first;
}

function place(
  command: Command,
  { given, argument, now }: { given: Values; argument: string | undefined; now: Date },
): Pick<Invocation, 'path' | 'body'> {
  const request: { path: Record<string, string>; body?: Record<string, unknown> } = { path: {} };
  if (command.argument !== undefined) put(request, command.argument.place, argument);
  for (const name of [...command.required, ...command.optional]) {
    const { place, read, stands } = optionOf(name);
    const value = given[name];
    if (value === undefined) continue;
    put(request, place, typeof value === 'boolean' ? stands : (read?.(value, now) ?? value));
  }
  if (command.defaultName !== undefined) request.body = { name: given[command.defaultName], ...request.body };
  return { path: request.path, body: request.body };
}

/** Sets the value at its place, in new objects where the way there has none. */
function put(holder: object, [name, ...rest]: readonly string[], value: unknown): void {
  if (name === undefined) return;
  const fields = holder as Record<string, unknown>;
  const inner = rest.length === 0 ? value : (fields[name] ?? {});
  fields[name] = inner;
  if (rest.length > 0) put(inner as object, rest, value);
}

/** The option, or argument, that put a value where an operation finds fault with it. */
export function findOption(command: Command, location: readonly (string | number)[]): string | undefined {
  const covers = (place: Place): boolean => place.every((name, index) => location[index] === name);
  if (command.argument !== undefined && covers(command.argument.place)) return `<${command.argument.value}>`;
  const name = [...command.required, ...command.optional].find((each) => covers(OPTIONS[each].place));
  return name === undefined ? undefined : `--${name}`;
}
