// Work in the background gives way to requests: the more of them come, the longer it rests after each of its steps. Without
// requests it does not rest at all.

export type GivingWay = {
  /** A request has come that somebody waits for. */
  requestBegan(): void;
  /** Rests after a step of the work that took so long. */
  rest(workedMs: number): Promise<void>;
};

/** Requests are counted for so long. */
const WINDOW_MS = 1000;
/** So many requests a second take as much time from the work as it has itself. */
const REQUESTS_A_SHARE = 25;
/** The work has a part of the time however many requests come: it never rests longer than so many times what it took. */
const SHARES_MAX = 4;
/** A step may be long because it waited for another server. */
const REST_MS_MAX = 1000;

export function createGivingWay({
  now = () => performance.now(),
  sleep = (ms: number): Promise<void> => Bun.sleep(ms),
} = {}): GivingWay {
  let begun = 0;
  let since = now();
  let aSecond = 0;
  const count = (): void => {
    const elapsedMs = now() - since;
    if (elapsedMs < WINDOW_MS) return;
    aSecond = (begun * 1000) / elapsedMs;
    begun = 0;
    since = now();
  };
  return {
    requestBegan() {
      count();
      begun += 1;
    },
    async rest(workedMs) {
      count();
      const restMs = Math.min(REST_MS_MAX, workedMs * Math.min(SHARES_MAX, aSecond / REQUESTS_A_SHARE));
      if (restMs >= 1) await sleep(restMs);
    },
  };
}
