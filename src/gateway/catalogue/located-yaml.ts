// YAML whose values know their lines, so that a mistake can be pointed at.

import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { FileMistake, type ReadVariable } from './file-mistake.ts';

/** A value of the file; each reading of it checks it. Throws FileMistake. */
export type Located = {
  fail(reason: string): never;
  /** Members of a mapping; others than the known ones are mistakes. */
  members(known: readonly string[]): Record<string, Located | undefined>;
  /** Members of a mapping whose names the file chooses, in its order. */
  entries(): [string, Located][];
  isMapping(): boolean;
  items(): Located[];
  /** With `${VAR}` replaced from the environment. */
  text(): string;
  number(range: { minimum: number; maximum: number; integer?: boolean }): number;
  choice<C extends string>(choices: readonly C[]): C;
  boolean(): boolean;
};

/** The root of a YAML text (JSON is YAML). Throws FileMistake for invalid YAML. */
export function readYaml(text: string, variable: ReadVariable): Located {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  if (error !== undefined) throw new FileMistake(lineAt(error.pos[0]), error.message);

  const locate = (written: Node | null, path: string, parentOffset: number): Located => {
    const offset = written?.range?.[0] ?? parentOffset;
    const node = isAlias(written) ? (written.resolve(document) ?? null) : written;
    const fail = (reason: string): never => {
      throw new FileMistake(lineAt(offset), `${path === '' ? 'the file' : path} ${reason}`);
    };
    const readValue = (name: string): string | undefined => {
      try {
        return variable(name);
      } catch {
        // Without the path of its file, because `/readyz` shows the mistake.
        return fail(`names the variable ${name}, whose file ${name}_FILE cannot be used`);
      }
    };
    const scalar = (): unknown => (isScalar(node) ? node.value : undefined);
    const entries = (): [string, Located][] => {
      if (!isMap(node)) return fail('must be a mapping');
      return node.items.map(({ key, value }) => {
        const name = isScalar(key) ? String(key.value) : fail('has a key that is no text');
        const here = path === '' ? name : `${path}.${name}`;
        return [name, locate(value as Node | null, here, (key as Node).range?.[0] ?? offset)];
      });
    };
    return {
      fail,
      entries,
      isMapping: () => isMap(node),
      members(known) {
        const found: Record<string, Located | undefined> = {};
        for (const [name, value] of entries()) {
          if (!known.includes(name)) value.fail(`is unknown here; known: ${known.join(', ')}`);
          found[name] = value;
        }
        return found;
      },
      items() {
        if (!isSeq(node)) return fail('must be a list');
        return node.items.map((item, index) => locate(item as Node | null, `${path}[${index}]`, offset));
      },
      text() {
        const value = scalar();
        if (typeof value !== 'string' || value === '') return fail('must be a text');
        return value.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
          return readValue(name) ?? fail(`names the variable ${name}, which is not set`);
        });
      },
      number({ minimum, maximum, integer }) {
        const value = scalar();
        const fits = typeof value === 'number' && value >= minimum && value <= maximum;
        if (fits && (integer !== true || Number.isInteger(value))) return value;
        return fail(`must be ${integer === true ? 'an integer' : 'a number'} from ${minimum} to ${maximum}`);
      },
      choice(choices) {
        const value = scalar();
        return choices.find((each) => each === value) ?? fail(`must be one of ${choices.join(', ')}`);
      },
      boolean() {
        const value = scalar();
        return typeof value === 'boolean' ? value : fail('must be true or false');
      },
    };
  };
  return locate(document.contents as Node | null, '', 0);
}
