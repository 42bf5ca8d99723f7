// YAML whose values know their lines, so that a mistake can be pointed at.

import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { FileMistake, type ReadVariable } from './file-mistake.ts';

type Source = { document: Document; lines: LineCounter; variable: ReadVariable };

/** The root of a YAML text (JSON is YAML). Throws FileMistake for invalid YAML. */
export function readYaml(text: string, variable: ReadVariable): Located {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) throw new FileMistake(lines.linePos(error.pos[0]).line, error.message);
  return new Located(
    document.contents as Node | null,
    { path: '', offset: 0 },
    { document, lines, variable },
  );
}

/** A value of the file; each reading of it checks it. Throws FileMistake. */
export class Located {
  private readonly node: unknown;
  private readonly path: string;
  private readonly offset: number;
  private readonly source: Source;

  /** `at`: its path, and the offset of the value around it. */
  constructor(written: Node | null, at: { path: string; offset: number }, source: Source) {
    this.node = isAlias(written) ? (written.resolve(source.document) ?? null) : written;
    this.path = at.path;
    this.offset = written?.range?.[0] ?? at.offset;
    this.source = source;
  }

  fail(reason: string): never {
    const { line } = this.source.lines.linePos(this.offset);
    throw new FileMistake(line, `${this.path === '' ? 'the file' : this.path} ${reason}`);
  }

  /** Members of a mapping whose names the file chooses, in its order. */
  entries(): [string, Located][] {
    const { node, path, offset, source } = this;
    if (!isMap(node)) return this.fail('must be a mapping');
    return node.items.map(({ key, value }) => {
      const name = isScalar(key) ? String(key.value) : this.fail('has a key that is no text');
      const at = { path: path === '' ? name : `${path}.${name}`, offset: (key as Node).range?.[0] ?? offset };
      return [name, new Located(value as Node | null, at, source)];
    });
  }

  /** Members of a mapping; others than the known ones are mistakes. */
  members(known: readonly string[]): Record<string, Located | undefined> {
    const found: Record<string, Located | undefined> = {};
    for (const [name, value] of this.entries()) {
      if (!known.includes(name)) value.fail(`is unknown here; known: ${known.join(', ')}`);
      found[name] = value;
    }
    return found;
  }

  isMapping(): boolean {
    return isMap(this.node);
  }

  items(): Located[] {
    const { node, path, offset, source } = this;
    if (!isSeq(node)) return this.fail('must be a list');
    return node.items.map(
      (item, index) => new Located(item as Node | null, { path: `${path}[${index}]`, offset }, source),
    );
  }

  /** With `${VAR}` replaced from the environment. */
  text(): string {
    const value = this.scalar();
    if (typeof value !== 'string' || value === '') return this.fail('must be a text');
    return value.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
      return this.variable(name) ?? this.fail(`names the variable ${name}, which is not set`);
    });
  }

  number({ minimum, maximum, integer }: { minimum: number; maximum: number; integer?: boolean }): number {
    const value = this.scalar();
    const fits = typeof value === 'number' && value >= minimum && value <= maximum;
    if (fits && (integer !== true || Number.isInteger(value))) return value;
    return this.fail(`must be ${integer === true ? 'an integer' : 'a number'} from ${minimum} to ${maximum}`);
  }

  choice<C extends string>(choices: readonly C[]): C {
    const value = this.scalar();
    return choices.find((each) => each === value) ?? this.fail(`must be one of ${choices.join(', ')}`);
  }

  boolean(): boolean {
    const value = this.scalar();
    return typeof value === 'boolean' ? value : this.fail('must be true or false');
  }

  private scalar(): unknown {
    return isScalar(this.node) ? this.node.value : undefined;
  }

  private variable(name: string): string | undefined {
    try {
      return this.source.variable(name);
    } catch {
      // Without the path of its file, because `/readyz` shows the mistake.
      return this.fail(`names the variable ${name}, whose file ${name}_FILE cannot be used`);
    }
  }
}
