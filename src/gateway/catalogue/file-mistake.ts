// What the reading of a file says and asks for, apart from the library that reads it.

/** A mistake in a file: the line and the reason, in one sentence. */
export class FileMistake extends Error {
  readonly line: number;

  constructor(line: number, reason: string) {
    super(`line ${line}: ${reason}`);
    this.line = line;
  }
}

export type ReadVariable = (name: string) => string | undefined;
