export type Values = Record<string, string | number>;

/** `{count}` in a text stands for a value, and `{count:page|pages}` for the word that fits the value: one page, two pages. */
export const fillIn = (text: string, values: Values): string =>
  text.replaceAll(
    /\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g,
    (whole, key: string, one: string | undefined, many: string | undefined) => {
      const value = values[key];
      if (value === undefined) return whole;
      return one === undefined || many === undefined ? String(value) : String(value) === '1' ? one : many;
    },
  );
