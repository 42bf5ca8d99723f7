import { parseArgs } from 'node:util';
import { editDistance } from '../core/edit-distance.ts';
import { COMMANDS, type Command, GROUPS } from './commands.ts';
import { OPTIONS, type Option, type OptionName, type Place } from './options.ts';

/** An invalid command line; the message is one line. */
export class UsageError extends Error {}

export type Invocation = {
  command: Command;
  path: Record<string, string>;
  query: Record<string, string>;
  /** Undefined where no option is part of it. */
  body: Record<string, unknown> | undefined;
  json: boolean;
};

/** A parsed command line: an invocation, or a request for the help of a command, of a group, or of all. */
export type CommandLine = Invocation | { help: Command | string | undefined };

/** Reads the command line. Spans of time count from `now`. Throws UsageError. */
export function parseCommandLine(words: readonly string[], now: Date): CommandLine {
  const [area = '', verb = ''] = words;
  if (area === 'help') return parseCommandLine([...words.slice(1), '--help'], now);
  const asksForHelp = words.includes('--help') || words.includes('-h');
  const find = (typed: string): Command | undefined => COMMANDS.find((each) => each.words === typed);
  const command = find(`${area} ${verb}`) ?? find(area);
  if (command === undefined) {
    if (words.length === 0 || area.startsWith('-')) return { help: undefined };
    if (area in GROUPS && (verb === '' || verb.startsWith('-'))) return { help: area };
    throw new UsageError(`there is no command "${`${area} ${verb}`.trim()}"; ${suggest(area, verb)}`);
  }
  if (asksForHelp) return { help: command };
  const { values, positionals } = parseOptions(command, words.slice(command.words.split(' ').length));
  const { json, ...given } = values;
  const placed = place(command, { given, argument: readArgument(command, positionals), now });
  return { command, ...placed, json: json === true };
}

/** Suggests the most similar command, or the list of the commands. */
function suggest(area: string, verb: string): string {
  const typed = `${area} ${verb}`.trim();
  const nearest = nearestOf(typed, verb === '' ? Object.keys(GROUPS) : COMMANDS.map(({ words }) => words));
  if (nearest !== undefined) return `did you mean "${nearest}"?`;
  return `see bun run admin ${area in GROUPS ? `${area} ` : ''}--help`;
}

/** The name with the smallest edit distance, if that is small. */
function nearestOf(typed: string, names: readonly string[]): string | undefined {
  if (typed.length > TYPED_MAX) return undefined;
  const distances = names.map((name) => ({ name, distance: editDistance(typed, name) }));
  const [first] = distances.sort((a, b) => a.distance - b.distance);
  return first !== undefined && first.distance <= Math.max(2, typed.length / 4) ? first.name : undefined;
}

const TYPED_MAX = 64;

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
  if (parsed.values['enable'] === true && parsed.values['disable'] === true)
    throw new UsageError('--enable and --disable exclude each other');
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
): Pick<Invocation, 'path' | 'query' | 'body'> {
  const request: Pick<Invocation, 'path' | 'query'> & { body?: Record<string, unknown> } = {
    path: {},
    query: {},
  };
  if (command.argument !== undefined) put(request, command.argument.place, argument);
  for (const name of [...command.required, ...command.optional]) {
    const { place, read, stands } = optionOf(name);
    const value = given[name];
    if (value === undefined) continue;
    put(request, place, typeof value === 'boolean' ? stands : (read?.(value, now) ?? value));
  }
  // A key is named like its scopes unless it is given a name.
  if (command.words === 'keys create') request.body = { name: given['scopes'], ...request.body };
  return { path: request.path, query: request.query, body: request.body };
}

/** Sets the value at its place, and creates the objects on the path to it. */
function put(holder: object, [name, ...rest]: readonly string[], value: unknown): void {
  if (name === undefined) return;
  const fields = holder as Record<string, unknown>;
  const inner = rest.length === 0 ? value : (fields[name] ?? {});
  fields[name] = inner;
  if (rest.length > 0) put(inner as object, rest, value);
}

/** The option or argument whose value an operation refuses at this location. */
export function findOption(command: Command, location: readonly (string | number)[]): string | undefined {
  const covers = (place: Place): boolean => place.every((name, index) => location[index] === name);
  if (command.argument !== undefined && covers(command.argument.place)) return `<${command.argument.value}>`;
  const name = [...command.required, ...command.optional].find((each) => covers(OPTIONS[each].place));
  return name === undefined ? undefined : `--${name}`;
}
