// What the mock saw, counted by key.

export type Phase = 'before-headers' | 'mid-answer';

export type SeenRequest = { method: string; path: string; headers: Record<string, string>; body: string };

export type Account = {
  requests: number;
  running: number;
  completed: number;
  /** The client went away: when, in milliseconds of the epoch, and in which phase. */
  cancelled: { at: number; phase: Phase }[];
  /** When each of the last requests came, in milliseconds of the epoch. */
  arrivals: number[];
  /** The most that ran at once. */
  runningMax: number;
  /** The last requests, the newest at the end. */
  last: SeenRequest[];
};

export type Totals = {
  requests: number;
  running: number;
  completed: number;
  cancelled: number;
  /** Of `/mock/stolen`, where redirects lead. */
  stolen: number;
  keys: string[];
};

/** One request, until it has ended one way or the other. */
export type Entry = {
  /** Which request of its key it is, from 1. */
  number: number;
  headersSent(): void;
  end(): void;
};

const LAST_KEPT = 16;
const ARRIVALS_KEPT = 1000;

const now = (): number => performance.timeOrigin + performance.now();

const newAccount = (): Account => ({
  requests: 0,
  running: 0,
  completed: 0,
  cancelled: [],
  arrivals: [],
  runningMax: 0,
  last: [],
});

export function createLedger() {
  let accounts = new Map<string, Account>();
  let unrecorded = 0;
  let stolen = 0;

  const accountOf = (key: string): Account => {
    const account = accounts.get(key) ?? newAccount();
    accounts.set(key, account);
    return account;
  };

  return {
    /** Counted, and nothing more. */
    countOnly(): void {
      unrecorded++;
    },
    countStolen(): void {
      stolen++;
    },
    begin(key: string, seen: SeenRequest, signal: AbortSignal): Entry {
      const account = accountOf(key);
      account.requests++;
      account.running++;
      account.runningMax = Math.max(account.runningMax, account.running);
      account.arrivals.push(now());
      if (account.arrivals.length > ARRIVALS_KEPT) account.arrivals.shift();
      account.last.push(seen);
      if (account.last.length > LAST_KEPT) account.last.shift();
      let phase: Phase = 'before-headers';
      let open = true;
      const close = (): boolean => {
        const wasOpen = open;
        if (wasOpen) account.running--;
        open = false;
        return wasOpen;
      };
      const cancel = (): void => {
        if (close()) account.cancelled.push({ at: now(), phase });
      };
      if (signal.aborted) cancel();
      else signal.addEventListener('abort', cancel, { once: true });
      return {
        number: account.requests,
        headersSent() {
          phase = 'mid-answer';
        },
        end() {
          if (close()) account.completed++;
        },
      };
    },
    read: (key: string): Account => accounts.get(key) ?? newAccount(),
    totals(): Totals {
      const all = [...accounts.values()];
      const sum = (count: (account: Account) => number): number =>
        all.reduce((total, account) => total + count(account), 0);
      return {
        requests: sum(({ requests }) => requests) + unrecorded,
        running: sum(({ running }) => running),
        completed: sum(({ completed }) => completed) + unrecorded,
        cancelled: sum(({ cancelled }) => cancelled.length),
        stolen,
        keys: [...accounts.keys()],
      };
    },
    reset(key: string | null): void {
      if (key !== null) {
        accounts.delete(key);
        return;
      }
      accounts = new Map();
      unrecorded = 0;
      stolen = 0;
    },
  };
}
