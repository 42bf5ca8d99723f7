// What all tests of one file share.

import { afterAll } from 'bun:test';

/**
 * Called at the top level of a test file with something that starts: its tests begin when that has started, and it ends
 * after the last of them.
 */
export async function shared<Value extends AsyncDisposable | Disposable>(
  starting: Value | Promise<Value>,
): Promise<Value> {
  const value = await starting;
  afterAll(() => (Symbol.asyncDispose in value ? value[Symbol.asyncDispose]() : value[Symbol.dispose]()));
  return value;
}
