// Text settings → typed values, each refused in one line that names it.

/** A value that the service can't start with; the message names the variable, what was given, what is allowed. */
export class SettingsError extends Error {}

export type SettingsReader = ReturnType<typeof createSettingsReader>;

/** Values that are absent or empty read as undefined. A refusal shows what was given, unless it is a secret. */
export function createSettingsReader(
  environment: Record<string, string | undefined>,
  secrets: ReadonlySet<string>,
) {
  const text = (name: string): string | undefined => {
    const value = environment[name]?.trim();
    return value === '' ? undefined : value;
  };
  const refuse = (name: string, allowed: string): never => {
    const given = secrets.has(name)
      ? `a value of ${text(name)?.length} characters`
      : JSON.stringify(text(name));
    throw new SettingsError(`${name}: ${given} is not allowed; expected ${allowed}`);
  };
  const parsed = (name: string): URL | undefined => {
    const value = text(name);
    return value === undefined ? undefined : (URL.parse(value) ?? undefined);
  };
  const origin = (name: string): string | undefined => {
    if (text(name) === undefined) return undefined;
    const url = parsed(name);
    // Whatever else a URL can hold would be lost without a word.
    const plain = url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
    return plain ? url.origin : refuse(name, 'an http or https origin such as https://s3.example.com');
  };
  return {
    text,
    origin,
    integer(name: string, range: { fallback: number; minimum: number; maximum: number }): number {
      const value = text(name);
      if (value === undefined) return range.fallback;
      const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
      if (number >= range.minimum && number <= range.maximum) return number;
      return refuse(name, `an integer from ${range.minimum} to ${range.maximum}`);
    },
    choice<C extends string>(name: string, choices: readonly C[]): C | undefined {
      const value = text(name);
      if (value === undefined) return undefined;
      return choices.find((choice) => choice === value) ?? refuse(name, choices.join(', '));
    },
    pattern(name: string, pattern: RegExp, allowed: string): string | undefined {
      const value = text(name);
      return value === undefined || pattern.test(value) ? value : refuse(name, allowed);
    },
    /** `explain` says what is expected where a value cannot be. */
    checked(name: string, explain: (value: string) => string | undefined): string | undefined {
      const value = text(name);
      const expected = value === undefined ? undefined : explain(value);
      return expected === undefined ? value : refuse(name, expected);
    },
    /** One or more, comma-separated; as given. */
    urls(name: string, protocols: readonly string[]): string | undefined {
      const value = text(name);
      const fits = (item: string) => protocols.includes(URL.parse(item.trim())?.protocol ?? '');
      if (value === undefined || value.split(',').every(fits)) return value;
      return refuse(name, `comma-separated ${protocols.map((protocol) => `${protocol}//…`).join(' or ')}`);
    },
    url(name: string, protocols: readonly string[]): string | undefined {
      if (text(name) === undefined) return undefined;
      const url = parsed(name);
      const allowed = protocols.map((protocol) => `${protocol}//…`).join(' or ');
      return url !== undefined && protocols.includes(url.protocol) ? text(name) : refuse(name, allowed);
    },
    origins(name: string): readonly string[] {
      const items = (text(name) ?? '').split(',').map((item) => item.trim());
      return items
        .filter((item) => item !== '')
        .map((item) => {
          const url = item === '*' ? undefined : URL.parse(item);
          if (item === '*') return item;
          return url?.origin === item
            ? item
            : refuse(name, 'comma-separated origins such as https://app.example.com, or *');
        });
    },
  };
}
