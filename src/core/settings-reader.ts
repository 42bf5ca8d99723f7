// A table of settings and the environment → typed values. Each mistake is refused in one line that names the setting.

import { parseJson } from './json.ts';
import { withoutCredentials } from './origin.ts';

/** Values that the service can't start with: a line each, which names the variable, what was given, what is allowed. */
export class SettingsError extends Error {}

export type SettingsMistakes = ReturnType<typeof createSettingsMistakes>;

/** Gathers mistakes, so that one start tells all of them. */
export function createSettingsMistakes() {
  const sentences: string[] = [];
  const broken = new Set<string>();
  return {
    /** `name`: the setting, whose value is not used then. */
    add(sentence: string, name?: string): void {
      sentences.push(sentence);
      if (name !== undefined) broken.add(name);
    },
    /** Undefined if the function throws SettingsError. A sentence about a setting that is refused already is left out. */
    attempt<T>(read: () => T): T | undefined {
      try {
        return read();
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        const follows = (line: string): boolean =>
          line.match(/[A-Z][A-Z0-9_]+/g)?.some((word) => broken.has(word)) === true;
        sentences.push(...error.message.split('\n').filter((line) => !follows(line)));
        return undefined;
      }
    },
    /** Throws SettingsError where there is a mistake. */
    refuse(): void {
      if (sentences.length > 0) throw new SettingsError([...new Set(sentences)].join('\n'));
    },
  };
}

/** How a text becomes a value. `parse` returns undefined for a text that is not allowed. */
export type Kind<T> = {
  allowed: string;
  parse(text: string): T | undefined;
  /** The text without what may be secret in it. */
  show?(text: string): string;
};

/**
 * One setting. `default` is a text of its kind; a setting without one has `otherwise`, which describes what applies then.
 * A value that is `secret` is never shown.
 */
export type Setting = { kind: Kind<unknown>; meaning: string; secret?: true } & (
  | { default: string; otherwise?: never }
  | { otherwise: string; default?: never }
);

/** The value of each setting: undefined where none is given and none is the default. */
export type SettingsOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends { kind: Kind<infer T> }
    ? Table[Name] extends { default: string }
      ? T
      : T | undefined
    : never;
};

/** An empty value counts as absent. In the place of a value that is not allowed stands the default. */
export function readSettings<Table extends Record<string, Setting>>(
  table: Table,
  environment: Record<string, string | undefined>,
  mistakes: SettingsMistakes,
): SettingsOf<Table> {
  const values = Object.entries(table).map(([name, { kind, secret, ...setting }]) => {
    const usual = setting.default === undefined ? undefined : kind.parse(setting.default);
    const text = environment[name]?.trim() || undefined;
    if (text === undefined) return [name, usual];
    const value = kind.parse(text);
    if (value !== undefined) return [name, value];
    const given = secret ? `a value of ${text.length} characters` : JSON.stringify(text);
    mistakes.add(`${name}: ${given} is not allowed; expected ${kind.allowed}`, name);
    return [name, usual];
  });
  return Object.fromEntries(values);
}

/** A setting as people may see it. `value` is null where nothing is set and nothing is the default, and of secrets. */
export type SettingInForce = {
  name: string;
  meaning: string;
  value: string | null;
  default: string;
  is_set: boolean;
  is_secret: boolean;
};

/** The settings that the environment makes, without secrets. */
export const settingsInForce = (
  table: Record<string, Setting>,
  environment: Record<string, string | undefined>,
): SettingInForce[] =>
  Object.entries(table).map(([name, { kind, meaning, secret = false, ...setting }]) => {
    const given = environment[name]?.trim() || undefined;
    const shown =
      given === undefined ? setting.default : (kind.show?.(given) ?? (secret ? undefined : given));
    return {
      name,
      meaning,
      value: shown ?? null,
      default: setting.default ?? setting.otherwise ?? '',
      is_set: given !== undefined,
      is_secret: secret,
    };
  });

/** One line for each setting: its name, its default, its meaning. */
export function renderSettings(table: Record<string, Setting>): string {
  const rows = Object.entries(table).map(
    ([name, { default: fixed, otherwise, meaning }]) => [name, fixed ?? otherwise ?? '', meaning] as const,
  );
  const width = (column: 0 | 1): number => Math.max(...rows.map((row) => row[column].length));
  return rows
    .map(([name, usual, meaning]) => `  ${name.padEnd(width(0))}  ${usual.padEnd(width(1))}  ${meaning}`)
    .join('\n');
}

export const TEXT: Kind<string> = { allowed: 'any text', parse: (text) => text };

/** JSON that its reader checks; a list is shown with an item on each line. */
export const JSON_TEXT: Kind<string> = { ...TEXT, show: showJson };

function showJson(text: string): string {
  try {
    const rows = parseJson(text);
    if (!Array.isArray(rows)) return text;
    return rows.map((row) => JSON.stringify(row, undefined, 1).replaceAll(/\n */g, ' ')).join('\n');
  } catch {
    return text;
  }
}

export const integer = (minimum: number, maximum: number): Kind<number> => ({
  allowed: `an integer from ${minimum} to ${maximum}`,
  parse: (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return number >= minimum && number <= maximum ? number : undefined;
  },
});

export const choice = <const C extends string>(choices: readonly C[]): Kind<C> => ({
  allowed: choices.join(', '),
  parse: (text) => choices.find((each) => each === text),
});

export const pattern = (regExp: RegExp, allowed: string): Kind<string> => ({
  allowed,
  parse: (text) => (regExp.test(text) ? text : undefined),
});

/** A URL with one of the protocols, as it was given. */
export const url = (...protocols: readonly string[]): Kind<string> => ({
  allowed: renderProtocols(protocols),
  parse: (text) => (hasProtocol(text, protocols) ? text : undefined),
  show: withoutCredentials,
});

/** One or more of them, comma-separated, as they were given. */
export const urls = (...protocols: readonly string[]): Kind<string> => ({
  allowed: `comma-separated ${renderProtocols(protocols)}`,
  parse: (text) => (text.split(',').every((item) => hasProtocol(item.trim(), protocols)) ? text : undefined),
  show: (text) =>
    text
      .split(',')
      .map((item) => withoutCredentials(item.trim()))
      .join(','),
});

/** Without the slash that it may end with. Anything else that a URL can hold would be lost, and is refused. */
export const ORIGIN: Kind<string> = {
  allowed: 'an http or https origin such as https://s3.example.com',
  parse: (text) => {
    const parsed = URL.parse(text);
    const plain = /^https?:$/.test(parsed?.protocol ?? '') && parsed?.href === `${parsed?.origin}/`;
    return plain ? parsed?.origin : undefined;
  },
};

export const ORIGINS: Kind<readonly string[]> = {
  allowed: 'comma-separated origins such as https://app.example.com, or *',
  parse: (text) => {
    const items = text.split(',').map((item) => item.trim());
    const given = items.filter((item) => item !== '');
    return given.every((item) => item === '*' || URL.parse(item)?.origin === item) ? given : undefined;
  },
};

const renderProtocols = (protocols: readonly string[]): string =>
  protocols.map((protocol) => `${protocol}//…`).join(' or ');

const hasProtocol = (text: string, protocols: readonly string[]): boolean =>
  protocols.includes(URL.parse(text)?.protocol ?? '');
