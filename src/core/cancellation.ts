// Cancelling of requests, without the runtime's AbortController: an object of it and its listeners cost about a microsecond.

/** The part of an AbortSignal that a wait needs: an AbortSignal is one, too. */
export type CancelSignal = Pick<AbortSignal, 'aborted' | 'reason'> & {
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
};

/** A signal that its owner aborts, once. Each listener is called at most once; `abort` throws the first error of one when all have been called. */
export class Cancellation implements CancelSignal {
  aborted = false;
  reason: unknown;
  /** A list, because a request has one or two: a set costs more than it saves. */
  private readonly listeners: (() => void)[] = [];

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    let failure: { error: unknown } | undefined;
    for (let listener = this.listeners.shift(); listener !== undefined; listener = this.listeners.shift()) {
      try {
        listener();
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
  }

  /** Aborts as soon as the other signal does. Returns a function that ends this. */
  follow(other: CancelSignal): () => void {
    const onAbort = (): void => this.abort(other.reason);
    if (other.aborted) onAbort();
    // Without `once`: a signal aborts once, and the option makes the listener half as dear again.
    else other.addEventListener('abort', onAbort);
    return () => other.removeEventListener('abort', onAbort);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.listeners.includes(listener)) this.listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.listeners.indexOf(listener);
    if (at !== -1) this.listeners.splice(at, 1);
  }
}
