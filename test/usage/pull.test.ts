// A pull reads what the server sends for it, in whatever order. The server is real; the consumer is one of ours, since
// no cluster can be made to let its closing status overtake its messages.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect, headers, type Msg, type MsgHdrs, type NatsConnection } from 'nats';
import { pull } from '../../src/usage/buffer/jetstream/pull.ts';
import { missingNats, type NatsServer, startNats } from '../support/nats-server.ts';

const missing = missingNats();
describe.skipIf(missing !== undefined)(`a pull${missing === undefined ? '' : ` (${missing})`}`, () => {
  let server: NatsServer;
  let connection: NatsConnection;
  const { signal: lost } = new AbortController();
  beforeAll(async () => {
    server = await startNats({ jetstream: false });
    connection = await connect({ servers: server.url });
  });
  afterAll(async () => {
    await connection.close();
    await server.stop();
  });

  const status = (code: number, description: string, pending?: number): MsgHdrs => {
    const made = headers(code, description);
    if (pending !== undefined) made.set('Nats-Pending-Messages', `${pending}`);
    return made;
  };

  /** What a pull of ten returns, of a consumer that answers it with these: a text is a message, headers a status. */
  async function pulled(consumer: string, answers: readonly (string | MsgHdrs)[]): Promise<string[]> {
    const subscription = connection.subscribe(`$JS.API.CONSUMER.MSG.NEXT.EVENTS.${consumer}`, {
      max: 1,
      callback(_error, request) {
        for (const answer of answers) {
          if (typeof answer === 'string') connection.publish(request.reply ?? '', answer, { reply: 'ack' });
          else connection.publish(request.reply ?? '', '', { headers: answer });
        }
      },
    });
    await connection.flush();
    try {
      const request = { stream: 'EVENTS', consumer, batch: 10, waitMs: 0, graceMs: 1000, lost };
      const messages: Msg[] = await pull(connection, request);
      return messages.map((message) => message.string());
    } finally {
      subscription.unsubscribe();
    }
  }

  test('goes on after a status that overtakes the messages that it counts', async () => {
    expect(await pulled('overtaken', [status(409, 'Batch Completed', 7), 'a', 'b', 'c'])).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  test('ends at a status behind the last message, whether or not it counts', async () => {
    expect(await pulled('counted', ['a', 'b', status(409, 'Batch Completed', 8)])).toEqual(['a', 'b']);
    expect(await pulled('uncounted', ['a', status(404, 'No Messages')])).toEqual(['a']);
    expect(await pulled('empty', [status(404, 'No Messages')])).toEqual([]);
  });

  test('rejects with what the server says, where that is not that there is no more', async () => {
    await expect(pulled('deleted', [status(409, 'Consumer Deleted')])).rejects.toThrow(
      '409 Consumer Deleted',
    );
  });

  test('returns what has come when the server falls silent, and rejects when nothing has', async () => {
    expect(await pulled('silent', [status(409, 'Batch Completed', 7), 'a'])).toEqual(['a']);
    await expect(pulled('mute', [])).rejects.toThrow('did not answer a pull in time');
  });
});
