// A statement that begins while its connection is being lost fails, and is never taken for one that was executed.

import { expect, spyOn, test } from 'bun:test';
import { Socket } from 'node:net';
import { isUnavailable } from '../../src/infra/postgres/client.ts';
import { connectTo, testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const database = await shared(testDatabase());

/** Calls `then` as soon as a socket of this process has failed, before its end is known. */
function onNextFailure(then: () => void): Disposable {
  const emit = Socket.prototype.emit;
  let awaited = true;
  return spyOn(Socket.prototype, 'emit').mockImplementation(function (
    this: Socket,
    event: string | symbol,
    ...rest: unknown[]
  ) {
    const heard = Reflect.apply(emit, this, [event, ...rest]) as boolean;
    if (event === 'error' && awaited) {
      awaited = false;
      then();
    }
    return heard;
  });
}

// Those of more than a kilobyte are written at once, shorter ones in the next turn of the event loop.
test.each([{ characters: 5000 }, { characters: 5 }])('$characters characters', async ({ characters }) => {
  await using proxy = await startTcpProxy(database.url);
  const url = new URL(database.url);
  url.port = String(proxy.port);
  const sql = connectTo(url.href, { connectionsMax: 1, statementTimeoutMs: 3000 });
  const text = 'x'.repeat(characters);
  const ask = (): Promise<unknown> =>
    sql`SELECT length(${text}) AS characters`.then(
      (rows) => [...rows],
      (error: unknown) => (isUnavailable(error) ? 'unavailable' : error),
    );
  try {
    expect(await ask()).toEqual([{ characters }]);
    const amid = Promise.withResolvers<unknown>();
    using _ = onNextFailure(() => amid.resolve(ask()));
    proxy.reset();
    // The next statement opens the connection again.
    const next = amid.promise.then(() => ask());
    const behind = Bun.sleep(100).then(() => ask());
    expect(await amid.promise).toBe('unavailable');
    await behind;
    await next;
    expect(await ask()).toEqual([{ characters }]);
  } finally {
    await sql.end({ timeout: 0 });
  }
});
