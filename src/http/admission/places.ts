// The places of one class of work, and the line for them. They are shared between workspaces, and
// within a workspace between keys: the one with the fewest running requests gets the next place. The line of a key serves its oldest
// request first. Once the oldest has waited for long it serves the newest first, so that during overload most answers are in time
// (adaptive LIFO, Maurer, "Fail at Scale", ACM Queue 2015).

/** Who asks. Without a credential both are empty. */
export type Asker = { readonly workspaceId: string; readonly keyId: string };

/** What one key has, and the place that is given to its request: it is returned with `leave`. */
export type Place = { readonly workspace: Workspace; running: number; readonly line: Waiting[] };

export type Waiting = {
  readonly sinceMs: number;
  /** Called once it has its place. */
  enter(place: Place): void;
  /** Called where it gets none. */
  refuse(reason: RefusalReason): void;
};

/** `late`: it has waited for too long. `crowded`: the line is full. `ending`: the service is shutting down. */
export type RefusalReason = 'late' | 'crowded' | 'ending';

type Workspace = { readonly keys: Map<string, Place>; running: number; waiting: number };

/** Workspaces that have nothing are kept, because they are likely to ask again, until there are so many. */
const IDLE_WORKSPACES_MAX = 1000;
const IDLE_KEYS_MAX = 1000;

/**
 * @param bounds.total places of all together
 * @param bounds.ofWorkspace places that one workspace may have; the rest is left to others
 * @param bounds.waiting requests in line; beyond, the one of the workspace with most of them that would be served last is refused
 * @param bounds.patienceMs once the first of a line has waited for longer, its newest is served first
 */
export function createPlaces(bounds: {
  total: number;
  ofWorkspace: number;
  waiting: number;
  patienceMs: number;
}) {
  /** The workspaces that were served last come last, because each turn moves a workspace to the end. */
  const workspaces = new Map<string, Workspace>();
  let running = 0;
  let waiting = 0;

  const find = ({ workspaceId, keyId }: Asker): Place => {
    let workspace = workspaces.get(workspaceId);
    if (workspace === undefined) {
      if (workspaces.size >= IDLE_WORKSPACES_MAX) dropIdle(workspaces);
      workspace = { keys: new Map(), running: 0, waiting: 0 };
      workspaces.set(workspaceId, workspace);
    }
    let place = workspace.keys.get(keyId);
    if (place === undefined) {
      if (workspace.keys.size >= IDLE_KEYS_MAX) dropIdle(workspace.keys);
      place = { workspace, running: 0, line: [] };
      workspace.keys.set(keyId, place);
    }
    return place;
  };

  const occupy = (place: Place): Place => {
    running++;
    place.running++;
    place.workspace.running++;
    return place;
  };

  const mayEnter = (each: Workspace): boolean => each.waiting > 0 && each.running < bounds.ofWorkspace;

  const servesNewest = ({ line: [first] }: Place, nowMs: number): boolean =>
    first !== undefined && nowMs - first.sinceMs > bounds.patienceMs;

  const unqueue = (place: Place, index: number): Waiting => {
    waiting--;
    place.workspace.waiting--;
    return place.line.splice(index, 1)[0] as Waiting;
  };

  return {
    /** A place at once; undefined where there is none, or others wait. */
    take(asker: Asker): Place | undefined {
      if (waiting > 0 || running >= bounds.total) return undefined;
      const place = find(asker);
      return place.workspace.running < bounds.ofWorkspace ? occupy(place) : undefined;
    },

    /** Puts a request in line, as the newest of its key. Where the line is full, one of the workspace with most of them is refused. */
    join(asker: Asker, entry: Waiting): void {
      const place = find(asker);
      place.line.push(entry);
      place.workspace.waiting++;
      waiting++;
      if (waiting <= bounds.waiting) return;
      const longest = most(workspaces.values(), (each) => each.waiting);
      const line = longest && most(longest.keys.values(), (each) => each.line.length);
      if (line === undefined) return;
      const last = servesNewest(line, entry.sinceMs) ? 0 : line.line.length - 1;
      unqueue(line, last).refuse('crowded');
    },

    /** Whether something in line can have a place. */
    canEnter(): boolean {
      if (waiting === 0 || running >= bounds.total) return false;
      for (const each of workspaces.values()) if (mayEnter(each)) return true;
      return false;
    },

    /** Takes the request that is next out of the line and gives it a place; undefined where no request can begin. */
    next(nowMs: number): { place: Place; entry: Waiting } | undefined {
      if (waiting === 0 || running >= bounds.total) return undefined;
      const [workspaceId, workspace] =
        least(
          workspaces.entries(),
          ([, each]) => mayEnter(each),
          ([, each]) => each.running,
        ) ?? [];
      if (workspaceId === undefined || workspace === undefined) return undefined;
      const [keyId, place] =
        least(
          workspace.keys.entries(),
          ([, each]) => each.line.length > 0,
          ([, each]) => each.running,
        ) ?? [];
      if (keyId === undefined || place === undefined) return undefined;
      moveToEnd(workspaces, workspaceId, workspace);
      moveToEnd(workspace.keys, keyId, place);
      const entry = unqueue(place, servesNewest(place, nowMs) ? place.line.length - 1 : 0);
      return { place: occupy(place), entry };
    },

    /** Returns a place. */
    leave(place: Place): void {
      running--;
      place.running--;
      place.workspace.running--;
    },

    /** Refuses all that have waited since before. */
    refuseSince(sinceMs: number, reason: RefusalReason): void {
      for (const { keys } of workspaces.values()) {
        for (const place of keys.values()) {
          for (
            let [first] = place.line;
            first !== undefined && first.sinceMs <= sinceMs;
            [first] = place.line
          )
            unqueue(place, 0).refuse(reason);
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

const isIdle = (each: Workspace | Place): boolean =>
  each.running === 0 && ('line' in each ? each.line.length : each.waiting) === 0;

function dropIdle(shares: Map<string, Workspace | Place>): void {
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
