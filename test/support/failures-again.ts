// What the test runner printed of each failed test, once more before its closing lines: a log is read from its end.

/** Of one failed test. A test may print thousands of lines before it fails; its error stands last. */
const LINES_KEPT = 60;
const ANOTHER_TEST = /^(\((pass|skip|todo)\) |\S+\.test\.ts:$)/;
const CLOSING_LINE = /^( *\d+ pass| *\d+ skip| *\d+ fail|\d+ tests? (skipped|failed):)$/;

/** Takes the runner's lines in order, each without its end, and gives those to print. */
export class FailuresAgain {
  #ofThisTest: string[] = [];
  #failures: string[] = [];
  #file = '';
  #closing = false;

  lines(line: string): string[] {
    if (this.#closing) return [line];
    if (CLOSING_LINE.test(line)) {
      this.#closing = true;
      if (this.#failures.length === 0) return [line];
      return ['What the failed tests printed:', ...this.#failures, '', line];
    }
    if (ANOTHER_TEST.test(line)) {
      if (line.endsWith('.test.ts:')) this.#file = line;
      this.#ofThisTest = [];
      return [line];
    }
    if (line.startsWith('  ^ ') && this.#ofThisTest.length === 0) this.#failures.push(line);
    else this.#ofThisTest.push(line);
    if (this.#ofThisTest.length > LINES_KEPT) this.#ofThisTest.shift();
    if (line.startsWith('(fail) ')) {
      this.#failures.push('', this.#file, ...this.#ofThisTest);
      this.#ofThisTest = [];
    }
    return [line];
  }
}
