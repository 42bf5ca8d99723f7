// Pulls messages of a consumer: the available ones at once, or the first that arrives. The client library can only
// wait for a full batch or prefetch without end. Protocol: NATS ADR-13, "Pull Subscribe".

import { createInbox, type Msg, type NatsConnection, NatsError, nanos } from 'nats';

export type Pull = {
  stream: string;
  consumer: string;
  batch: number;
  /** A first message that is larger ends the pull without it. */
  bytesMax?: number;
  /** How long to wait for a full batch; 0 returns the available messages. */
  waitMs: number;
  /** How long the server may be silent beyond that. */
  graceMs: number;
  /** Aborts when the connection is lost, and the request with it. */
  lost: AbortSignal;
};

const NO_MESSAGES = 404;
const TIMED_OUT = 408;

/**
 * Rejects with NatsError when the server does not answer, or has no such consumer. Messages in transit are then
 * redelivered after the consumer's time-out.
 */
export async function pull(connection: NatsConnection, request: Pull): Promise<Msg[]> {
  const { stream, consumer, batch, bytesMax, waitMs, graceMs, lost } = request;
  const inbox = createInbox();
  const subscription = connection.subscribe(inbox);
  let silent = false;
  const giveUp = (): void => {
    silent = true;
    subscription.unsubscribe();
  };
  const timer = setTimeout(giveUp, waitMs + graceMs);
  lost.addEventListener('abort', giveUp);
  const messages: Msg[] = [];
  /** How many the server sends before it forgets the pull; known from its closing status. */
  let expected = batch;
  let failure: NatsError | undefined;
  try {
    const asked = {
      batch,
      ...(bytesMax === undefined ? {} : { max_bytes: bytesMax }),
      ...(waitMs === 0 ? { no_wait: true } : { expires: nanos(waitMs) }),
    };
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(asked), {
      reply: inbox,
    });
    for await (const message of subscription) {
      if (isStatus(message)) {
        failure = toFailure(message);
        expected = batch - unsentOf(message, batch - messages.length);
      } else messages.push(message);
      if (messages.length >= expected) break;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
    lost.removeEventListener('abort', giveUp);
    subscription.unsubscribe();
  }
  if (messages.length > 0) return messages;
  if (silent) failure = new NatsError('NATS did not answer a pull in time', 'TIMEOUT');
  if (failure !== undefined) throw failure;
  return messages;
}

const isStatus = ({ headers, reply }: Msg): boolean =>
  headers?.hasError === true || reply === undefined || reply === '';

/**
 * How many messages of the batch the server has not sent when it closes a pull. The status of a replicated consumer
 * overtakes messages that it has sent, which wait for their quorum; servers that do not tell send none behind it.
 */
function unsentOf({ headers }: Msg, absent: number): number {
  const told = headers?.get('Nats-Pending-Messages') ?? '';
  return told === '' ? absent : Number(told);
}

/** Some statuses only say that there is no more: no message, none in time, or none that is small enough. */
function toFailure({ headers }: Msg): NatsError | undefined {
  const code = headers?.code ?? 0;
  const description = headers?.description ?? '';
  if (code === NO_MESSAGES || code === TIMED_OUT || /max ?bytes|batch completed/i.test(description))
    return undefined;
  return new NatsError(`NATS ended a pull: ${code} ${description}`.trimEnd(), `${code}`);
}
