// The permits of one class of work, and the queue for them. They are shared between workspaces, and
// within a workspace between keys: the one with the fewest running requests gets the next permit. The queue of a key serves its oldest
// request first. Once the oldest has waited for long it serves the newest first, so that during overload most answers are in time
// (adaptive LIFO, Maurer, "Fail at Scale", ACM Queue 2015).

/** Who asks. Without a credential the workspace is empty, and the address of the client stands for the key. */
export type Asker = { readonly workspaceId: string; readonly keyId: string };

/** The running requests and the queue of one key. Each of its requests holds it as its permit, and returns it with `release`. */
export type Permit = { readonly workspace: Workspace; running: number; readonly queue: Waiting[] };

export type Waiting = {
  readonly sinceMs: number;
  /** Called with its permit. */
  enter(permit: Permit): void;
  /** Called where it gets no permit. */
  refuse(reason: RefusalReason): void;
};

/** `late`: it has waited for too long. `crowded`: the queue is full. `ending`: the service is shutting down. */
export type RefusalReason = 'late' | 'crowded' | 'ending';

type Workspace = { readonly keys: Map<string, Permit>; running: number; waiting: number };

/** Workspaces that have nothing are kept, because they are likely to ask again, until there are so many. */
const IDLE_WORKSPACES_MAX = 1000;
const IDLE_KEYS_MAX = 1000;

/**
 * @param bounds.total permits of all together
 * @param bounds.ofWorkspace permits that one workspace may have; the rest is left to others
 * @param bounds.waiting requests in the queue; beyond, the one of the workspace with most of them that would be served last is refused
 * @param bounds.patienceMs once the oldest of a queue has waited for longer, its newest is served first
 */
export function createFairSemaphore(bounds: {
  total: number;
  ofWorkspace: number;
  waiting: number;
  patienceMs: number;
}) {
  /** The workspaces that were served last come last, because each turn moves a workspace to the end. */
  const workspaces = new Map<string, Workspace>();
  let running = 0;
  let waiting = 0;

  const find = ({ workspaceId, keyId }: Asker): Permit => {
    let workspace = workspaces.get(workspaceId);
    if (workspace === undefined) {
      if (workspaces.size >= IDLE_WORKSPACES_MAX) dropIdle(workspaces);
      workspace = { keys: new Map(), running: 0, waiting: 0 };
      workspaces.set(workspaceId, workspace);
    }
    let permit = workspace.keys.get(keyId);
    if (permit === undefined) {
      if (workspace.keys.size >= IDLE_KEYS_MAX) dropIdle(workspace.keys);
      permit = { workspace, running: 0, queue: [] };
      workspace.keys.set(keyId, permit);
    }
    return permit;
  };

  const hold = (permit: Permit): Permit => {
    running++;
    permit.running++;
    permit.workspace.running++;
    return permit;
  };

  const mayBegin = (each: Workspace): boolean => each.waiting > 0 && each.running < bounds.ofWorkspace;

  const servesNewest = ({ queue: [first] }: Permit, nowMs: number): boolean =>
    first !== undefined && nowMs - first.sinceMs > bounds.patienceMs;

  const dequeue = (permit: Permit, index: number): Waiting => {
    waiting--;
    permit.workspace.waiting--;
    return permit.queue.splice(index, 1)[0] as Waiting;
  };

  return {
    /** A permit at once; undefined where none is free, or others wait. */
    acquire(asker: Asker): Permit | undefined {
      if (waiting > 0 || running >= bounds.total) return undefined;
      const permit = find(asker);
      return permit.workspace.running < bounds.ofWorkspace ? hold(permit) : undefined;
    },

    /** Puts a request in the queue, as the newest of its key. Where the queue is full, one of the workspace with most of them is refused. */
    enqueue(asker: Asker, entry: Waiting): void {
      const permit = find(asker);
      permit.queue.push(entry);
      permit.workspace.waiting++;
      waiting++;
      if (waiting <= bounds.waiting) return;
      const longest = most(workspaces.values(), (each) => each.waiting);
      const fullest = longest && most(longest.keys.values(), (each) => each.queue.length);
      if (fullest === undefined) return;
      const last = servesNewest(fullest, entry.sinceMs) ? 0 : fullest.queue.length - 1;
      dequeue(fullest, last).refuse('crowded');
    },

    /** Whether a request of the queue can have a permit. */
    canAcquire(): boolean {
      if (waiting === 0 || running >= bounds.total) return false;
      for (const each of workspaces.values()) if (mayBegin(each)) return true;
      return false;
    },

    /** Takes the request that is next out of the queue and gives it a permit; undefined where no request can begin. */
    next(nowMs: number): { permit: Permit; entry: Waiting } | undefined {
      if (waiting === 0 || running >= bounds.total) return undefined;
      const [workspaceId, workspace] =
        least(
          workspaces.entries(),
          ([, each]) => mayBegin(each),
          ([, each]) => each.running,
        ) ?? [];
      if (workspaceId === undefined || workspace === undefined) return undefined;
      const [keyId, permit] =
        least(
          workspace.keys.entries(),
          ([, each]) => each.queue.length > 0,
          ([, each]) => each.running,
        ) ?? [];
      if (keyId === undefined || permit === undefined) return undefined;
      moveToEnd(workspaces, workspaceId, workspace);
      moveToEnd(workspace.keys, keyId, permit);
      const entry = dequeue(permit, servesNewest(permit, nowMs) ? permit.queue.length - 1 : 0);
      return { permit: hold(permit), entry };
    },

    /** Returns a permit. */
    release(permit: Permit): void {
      running--;
      permit.running--;
      permit.workspace.running--;
    },

    /** Refuses all that have waited since before. */
    refuseSince(sinceMs: number, reason: RefusalReason): void {
      for (const { keys } of workspaces.values()) {
        for (const permit of keys.values()) {
          for (
            let [first] = permit.queue;
            first !== undefined && first.sinceMs <= sinceMs;
            [first] = permit.queue
          )
            dequeue(permit, 0).refuse(reason);
        }
      }
    },

    running: () => running,
    waiting: () => waiting,
  };
}

function moveToEnd<Value>(map: Map<string, Value>, name: string, value: Value): void {
  map.delete(name);
  map.set(name, value);
}

const isIdle = (each: Workspace | Permit): boolean =>
  each.running === 0 && ('queue' in each ? each.queue.length : each.waiting) === 0;

function dropIdle(shares: Map<string, Workspace | Permit>): void {
  for (const [name, each] of shares) if (isIdle(each)) shares.delete(name);
}

/** The first entry with the smallest size among those that fit. */
function least<Each>(
  all: Iterable<Each>,
  fits: (each: Each) => boolean,
  sizeOf: (each: Each) => number,
): Each | undefined {
  let found: Each | undefined;
  let smallest = Number.POSITIVE_INFINITY;
  for (const each of all) {
    if (!fits(each)) continue;
    const size = sizeOf(each);
    if (size >= smallest) continue;
    [found, smallest] = [each, size];
  }
  return found;
}

const most = <Each>(all: Iterable<Each>, sizeOf: (each: Each) => number): Each | undefined =>
  least(
    all,
    () => true,
    (each) => -sizeOf(each),
  );
