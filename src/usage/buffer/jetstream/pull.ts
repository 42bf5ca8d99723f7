// Pulling messages of a consumer: what is there, at once, or the first that comes. The client library's own ways
// either wait for a full batch or fetch ahead without end. Protocol: NATS ADR-13, "Pull Subscribe".

import { createInbox, type Msg, type NatsConnection, nanos } from 'nats';

export type Pull = { stream: string; consumer: string; batch: number } & (
  | { noWait: true }
  | { expiresMs: number }
);

/** Beyond what the server was asked to take. */
const GRACE_MS = 1000;

/** Rejects when the connection is closed meanwhile; what was delivered then comes again. */
export async function pull(connection: NatsConnection, request: Pull): Promise<Msg[]> {
  const inbox = createInbox();
  const subscription = connection.subscribe(inbox);
  const waitMs = 'noWait' in request ? 0 : request.expiresMs;
  const timer = setTimeout(() => subscription.unsubscribe(), waitMs + GRACE_MS);
  const messages: Msg[] = [];
  try {
    const asked = 'noWait' in request ? { no_wait: true } : { expires: nanos(request.expiresMs) };
    connection.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${request.stream}.${request.consumer}`,
      JSON.stringify({ batch: request.batch, ...asked }),
      { reply: inbox },
    );
    for await (const message of subscription) {
      // A status ends the pull: nothing (more) is there, or the server is going away.
      if (message.headers?.hasError === true || message.reply === undefined || message.reply === '') break;
      messages.push(message);
      if (messages.length === request.batch) break;
    }
  } finally {
    clearTimeout(timer);
    subscription.unsubscribe();
  }
  return messages;
}
