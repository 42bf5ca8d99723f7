// A worker thread as a server of named calls: each request has an id and gets one answer, a result or an error.

import { within } from './wait.ts';

/** The calls that a thread answers, by name. */
type Calls = Readonly<Record<string, (input: never) => unknown>>;
/** In the thread, a call may also return a promise. */
type Served<C extends Calls> = {
  [Name in keyof C]: (...input: Parameters<C[Name]>) => ReturnType<C[Name]> | Promise<ReturnType<C[Name]>>;
};

type Request = { id: number; name: string; input: unknown };
type Answer = { id: number; result?: unknown; failure?: { name: string; message: string; code: unknown } };

/** The first request. Its input are the settings. */
const OPEN = 'open';

/** The thread has not answered this request, or an earlier one, in time. */
export class ThreadOverdue extends Error {
  readonly code = 'THREAD_OVERDUE';
  override readonly name = 'ThreadOverdue';
}

/** The thread ended while this request was pending. */
export class ThreadEnded extends Error {
  override readonly name = 'ThreadEnded';
}

/**
 * A thread that runs the file `entry`, which calls `serveThread`. The first request starts it, and the request after its end starts
 * another one. `onEnd` is called when a thread that had opened has ended by itself or was replaced.
 */
export function createThread<C extends Calls, Opened = undefined>(options: {
  entry: URL;
  settings: unknown;
  openMsMax: number;
  onEnd?(reason: string): void;
}) {
  const name = options.entry.pathname.split('/').slice(-2).join('/');
  let running: ReturnType<typeof start> | undefined;
  let isEnded = false;

  function start() {
    const worker = new Worker(options.entry);
    const pending = new Map<number, PromiseWithResolvers<unknown>>();
    /** Requests that were not answered in time. While there are any, the thread is sent nothing, so that no work piles up. */
    const overdue = new Set<number>();
    let ids = 0;
    let reason = 'it has ended';

    function post(call: string, input: unknown): { id: number; answer: Promise<unknown> } {
      const id = ++ids;
      const answer = Promise.withResolvers<unknown>();
      pending.set(id, answer);
      worker.postMessage({ id, name: call, input } satisfies Request);
      return { id, answer: answer.promise };
    }

    worker.addEventListener('message', ({ data: { id, result, failure } }: MessageEvent<Answer>) => {
      const request = pending.get(id);
      pending.delete(id);
      overdue.delete(id);
      if (failure === undefined) request?.resolve(result);
      else request?.reject(Object.assign(new Error(failure.message), failure));
    });
    // An uncaught error ends a thread; without a listener it would end the process.
    worker.addEventListener('error', ({ message }) => {
      reason = message;
    });
    worker.addEventListener('close', () => thread.end());

    const thread = {
      isOpen: false,
      opened: post(OPEN, options.settings).answer as Promise<Opened>,
      async ask(call: string, input: unknown, timeoutMs: number): Promise<unknown> {
        if (running !== thread) throw new ThreadEnded(`the thread of ${name} has ended`);
        const refusal = new ThreadOverdue(`the thread of ${name} does not answer`);
        if (overdue.size > 0) throw refusal;
        const { id, answer } = post(call, input);
        return within(answer, timeoutMs, () => {
          overdue.add(id);
          throw refusal;
        });
      },
      end(): void {
        if (running !== thread) return;
        running = undefined;
        worker.terminate();
        for (const { reject } of pending.values())
          reject(new ThreadEnded(`the thread of ${name} has ended: ${reason}`));
        if (thread.isOpen && !isEnded) options.onEnd?.(reason);
      },
    };
    thread.opened.then(
      () => {
        thread.isOpen = true;
      },
      () => thread.end(),
    );
    return thread;
  }

  async function open() {
    if (isEnded) throw new ThreadEnded(`the thread of ${name} has been ended`);
    running ??= start();
    const thread = running;
    const opened = await within(thread.opened, options.openMsMax, () => {
      throw new ThreadOverdue(`the thread of ${name} does not open`);
    });
    return { thread, opened };
  }

  return {
    /** What the thread returned when it opened. Rejects with its error, or with ThreadOverdue. */
    open: async (): Promise<Opened> => (await open()).opened,
    /**
     * Makes a call. Rejects with the error of the call (its name, message and code); with ThreadOverdue after `timeoutMs`, or at once
     * while another request is overdue; with ThreadEnded if the thread ends; and after `end()`.
     */
    async ask<Name extends keyof C & string>(
      call: Name,
      ...given: [...input: Parameters<C[Name]>, timeoutMs: number]
    ): Promise<ReturnType<C[Name]>> {
      const timeoutMs = given.pop() as number;
      const { thread } = await open();
      return (await thread.ask(call, given[0], timeoutMs)) as ReturnType<C[Name]>;
    },
    isOpen: (): boolean => running?.isOpen === true,
    /** Ends the thread as if it had ended by itself. */
    replace: (): void => running?.end(),
    /** Ends the thread, rejects pending requests, and starts no other one. */
    end(): void {
      isEnded = true;
      running?.end();
    },
  };
}

declare const self: Worker;

/** Serves a thread, from the top of its own file. `open` gets the settings. */
export function serveThread<Settings, C extends Calls, Opened = undefined>(
  open: (
    settings: Settings,
  ) => { calls: Served<C>; opened: Opened } | Promise<{ calls: Served<C>; opened: Opened }>,
): void {
  let calls: Readonly<Record<string, (input: unknown) => unknown>> = {};
  async function serve(name: string, input: unknown): Promise<unknown> {
    if (name !== OPEN) {
      const call = calls[name];
      if (call === undefined) throw new Error(`there is no call ${name}`);
      return call(input);
    }
    const served = await open(input as Settings);
    calls = served.calls as typeof calls;
    return served.opened;
  }
  self.onmessage = async ({ data: { id, name, input } }: MessageEvent<Request>) => {
    try {
      self.postMessage({ id, result: await serve(name, input) } satisfies Answer);
    } catch (error) {
      const {
        name: kind,
        message,
        code,
      }: Error & { code?: unknown } = error instanceof Error ? error : new Error(String(error));
      self.postMessage({ id, failure: { name: kind, message, code } } satisfies Answer);
    }
  };
}
