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
  private readonly listeners = new Set<() => void>();

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    let failure: { error: unknown } | undefined;
    for (const listener of this.listeners) {
      this.listeners.delete(listener);
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
    else other.addEventListener('abort', onAbort, { once: true });
    return () => other.removeEventListener('abort', onAbort);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.delete(listener);
  }
}
