import { useEffect, useReducer, useRef } from 'preact/hooks';
import { CallError } from './api.ts';
import { isOffline } from './state.ts';
import { t } from './text.ts';

export type Resource<Data> = {
  /** The last answer; it stays while another is loaded, and after a failure. */
  data: Data | undefined;
  error: CallError | undefined;
  loading: boolean;
  reload(): void;
};

export const toError = (error: unknown): CallError =>
  error instanceof CallError ? error : new CallError(0, t('error.browser', { message: String(error) }));

/**
 * Loads the data of a view when it is shown, when one of `dependencies` changes, and when the service answers again after an
 * outage. An answer that arrives after a later request was sent is dropped. `everyMs`: repeats while the page is visible.
 */
export function useResource<Data>(
  load: () => Promise<Data>,
  dependencies: readonly unknown[],
  { everyMs }: { everyMs?: number } = {},
): Resource<Data> {
  const state = useRef<Omit<Resource<Data>, 'reload'>>({ data: undefined, error: undefined, loading: true });
  const latest = useRef(0);
  const [, render] = useReducer((count: number) => count + 1, 0);
  const loadLatest = useRef(load);
  loadLatest.current = load;

  const reload = (): void => {
    const turn = ++latest.current;
    const settle = (outcome: Partial<Resource<Data>>): void => {
      if (turn !== latest.current) return;
      state.current = { ...state.current, error: undefined, loading: false, ...outcome };
      render(undefined);
    };
    state.current.loading = true;
    loadLatest.current().then(
      (data) => settle({ data }),
      (error: unknown) => settle({ error: toError(error) }),
    );
  };

  const offline = isOffline.value;
  useEffect(() => {
    if (!offline) reload();
    return () => {
      latest.current++;
    };
  }, [...dependencies, offline]);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return { ...state.current, reload };
}

export type Action = {
  run(work: () => Promise<unknown>): void;
  busy: boolean;
  error: CallError | undefined;
  clear(): void;
};

/** An action of a person: while it runs, it cannot be started again; its error stays until the next try. */
export function useAction(): Action {
  const state = useRef<{ busy: boolean; error: CallError | undefined }>({ busy: false, error: undefined });
  const [, render] = useReducer((count: number) => count + 1, 0);
  const set = (next: { busy: boolean; error?: CallError }): void => {
    state.current = { error: undefined, ...next };
    render(undefined);
  };
  return {
    ...state.current,
    run(work) {
      if (state.current.busy) return;
      set({ busy: true });
      work().then(
        () => set({ busy: false }),
        (error: unknown) => set({ busy: false, error: toError(error) }),
      );
    },
    clear: () => set({ busy: false }),
  };
}
