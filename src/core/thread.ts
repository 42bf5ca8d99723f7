// A worker thread as a server: requests with an id, each answered once with a result or an error, in any order.
//
// A request that is not answered in time makes the thread overdue: it is sent nothing more until it has answered, so that work does
// not pile up behind a call that hangs. Its late answer ends that, and is dropped. A thread that has ended by itself fails
// all requests under way; the next request starts another one.

/** The calls that a thread answers, by name; on its side a call may also return a promise. */
type Calls = Readonly<Record<string, (input: never) => unknown>>;
type Served<C extends Calls> = {
  [Name in keyof C]: (
    ...input: Parameters<C[Name]>
  ) => ReturnType<C[Name]> | Promise<ReturnType<C[Name]>> | Transfer<ReturnType<C[Name]>>;
};

/** A result of a call, of which these buffers are transferred, not copied. */
export class Transfer<Result> {
  readonly result: Result;
  readonly buffers: ArrayBuffer[];

  constructor(result: Result, buffers: ArrayBuffer[]) {
    this.result = result;
    this.buffers = buffers;
  }
}

type Request = { id: number; name: string; input: unknown };
type Failure = { name: string; message: string; code: unknown };
type Answer = { id: number } & ({ result: unknown } | { failure: Failure });
/** A message of the thread that answers no request. */
type Notice = { notice: unknown };

/** The first request, whose input are the settings. */
const OPEN = 'open';

/** The thread has not answered this request, or an earlier one, in time. */
export class ThreadOverdue extends Error {
  readonly code = 'THREAD_OVERDUE';

  constructor(entry: string) {
    super(`the thread of ${entry} does not answer`);
    this.name = 'ThreadOverdue';
  }
}

/** The thread has ended while it had this request. */
export class ThreadEnded extends Error {
  constructor(entry: string) {
    super(`the thread of ${entry} has ended`);
    this.name = 'ThreadEnded';
  }
}

export type Thread<C extends Calls, Opened> = {
  /** What the thread said when it opened; starts it if it does not run. Rejects with its error, and where it is silent. */
  open(): Promise<Opened>;
  /**
   * The answer to a request. Rejects with the error of the call (its name, message and code); with `ThreadOverdue` after `timeoutMs`, or
   * at once while the thread is overdue; with `ThreadEnded` where the thread ends; and after `end()`.
   */
  ask<Name extends keyof C & string>(
    name: Name,
    ...given: [...input: Parameters<C[Name]>, timeoutMs: number]
  ): Promise<ReturnType<C[Name]>>;
  /** Ends a thread that is not to be waited for, as if it had ended by itself. */
  replace(): void;
  /** Ends it; what is under way is rejected. It is not started again. */
  end(): void;
};

type Running<Opened> = { worker: Worker; opened: Promise<Opened>; hasOpened: boolean };
type Pending = PromiseWithResolvers<unknown> & { timer: ReturnType<typeof setTimeout>; isOverdue: boolean };

/** `onEnd` is called when a thread that had opened has ended by itself, or was replaced. */
export function createThread<C extends Calls, Opened>(options: {
  entry: URL;
  settings: unknown;
  openMsMax: number;
  onNotice?(notice: unknown): void;
  onError?(message: string): void;
  onEnd?(): void;
}): Thread<C, Opened> {
  const { entry, settings, openMsMax } = options;
  const name = entry.pathname.split('/').slice(-2).join('/');
  const pending = new Map<number, Pending>();
  let running: Running<Opened> | undefined;
  let ids = 0;
  let ended = false;

  const isOverdue = (): boolean => pending.values().some((each) => each.isOverdue);
  /** Its thread is left alone from here on. */
  const drop = (worker: Worker): void => {
    if (running?.worker !== worker) return;
    running = undefined;
    worker.terminate();
    for (const { reject, timer } of pending.values()) {
      clearTimeout(timer);
      reject(new ThreadEnded(name));
    }
    pending.clear();
  };
  const lose = (worker: Worker): void => {
    const hadOpened = running?.worker === worker && running.hasOpened;
    drop(worker);
    if (hadOpened) options.onEnd?.();
  };
  const settle = (worker: Worker, answer: Answer): void => {
    const request = pending.get(answer.id);
    if (running?.worker !== worker || request === undefined) return;
    pending.delete(answer.id);
    clearTimeout(request.timer);
    // One that has opened too late is not known to those who wait: the next request starts another one.
    if (request.isOverdue && !running.hasOpened) drop(worker);
    else if ('result' in answer) request.resolve(answer.result);
    else request.reject(Object.assign(new Error(answer.failure.message), answer.failure));
  };
  const send = (worker: Worker, request: Omit<Request, 'id'>, timeoutMs: number): Promise<unknown> => {
    if (isOverdue()) return Promise.reject(new ThreadOverdue(name));
    const id = ++ids;
    const waiting = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => {
      entered.isOverdue = true;
      waiting.reject(new ThreadOverdue(name));
    }, timeoutMs);
    const entered: Pending = { ...waiting, timer, isOverdue: false };
    pending.set(id, entered);
    worker.postMessage({ ...request, id } satisfies Request);
    return waiting.promise;
  };
  const start = (): Running<Opened> => {
    const worker = new Worker(entry.href);
    worker.onmessage = ({ data }: MessageEvent<Answer | Notice>) => {
      if ('notice' in data) options.onNotice?.(data.notice);
      else settle(worker, data);
    };
    // An uncaught error ends a thread; without a listener it would end the process.
    worker.addEventListener('error', ({ message }) => options.onError?.(message));
    worker.addEventListener('close', () => lose(worker));
    const opened = send(worker, { name: OPEN, input: settings }, openMsMax).then(
      (result) => {
        started.hasOpened = true;
        return result as Opened;
      },
      (error: unknown) => {
        if (!(error instanceof ThreadOverdue)) drop(worker);
        throw error;
      },
    );
    const started: Running<Opened> = { worker, opened, hasOpened: false };
    return started;
  };
  const run = (): Running<Opened> => {
    if (ended) throw new Error(`the thread of ${name} has been ended`);
    running ??= start();
    return running;
  };

  return {
    open: async () => run().opened,
    async ask(call, ...given) {
      const timeoutMs = given.pop() as number;
      const { worker, opened } = run();
      await opened;
      if (running?.worker !== worker) throw new ThreadEnded(name);
      const result = await send(worker, { name: call, input: given[0] }, timeoutMs);
      return result as ReturnType<C[typeof call]>;
    },
    replace() {
      if (running !== undefined) lose(running.worker);
    },
    end() {
      ended = true;
      if (running !== undefined) drop(running.worker);
    },
  };
}

declare const self: Worker;

/**
 * Serves a thread, from the top of its own file. `open` gets the settings, and a way to say something without a request.
 */
export function serveThread<Settings, C extends Calls, Opened = undefined>(
  open: (
    settings: Settings,
    notify: (notice: unknown) => void,
  ) => { calls: Served<C>; opened: Opened } | Promise<{ calls: Served<C>; opened: Opened }>,
): void {
  let calls: Readonly<Record<string, (input: unknown) => unknown>> = {};
  const post = (message: Answer | Notice, buffers: ArrayBuffer[] = []): void =>
    self.postMessage(message, buffers);
  const answer = async ({ id, name, input }: Request): Promise<void> => {
    try {
      if (name === OPEN) {
        const served = await open(input as Settings, (notice) => post({ notice }));
        calls = served.calls as typeof calls;
        return post({ id, result: served.opened });
      }
      const call = calls[name];
      if (call === undefined) throw new Error(`there is no call ${name}`);
      const result = call(input);
      // A call that is done is answered at once, in its turn.
      if (result instanceof Transfer) post({ id, result: result.result }, result.buffers);
      else post({ id, result: result instanceof Promise ? await result : result });
    } catch (error) {
      post({ id, failure: toFailure(error) });
    }
  };
  self.onmessage = ({ data }: MessageEvent<Request>) => void answer(data);
}

function toFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), code: undefined };
  return { name: error.name, message: error.message, code: 'code' in error ? error.code : undefined };
}
