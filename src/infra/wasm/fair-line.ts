// The queue of a lane. Work without an owner comes first, in the order of arrival. Owners share the rest by time: the one that has
// used least is next, with its shortest work first, so that nobody waits behind all that another one has sent.

import type { Task } from './work.ts';

/** Owners whose use is remembered while others wait. */
const OWNERS_MAX = 4096;

export function createFairLine() {
  const tasks: Task[] = [];
  /** Milliseconds that each owner with waiting work has used, since it has had some. */
  const used = new Map<string, number>();

  const ownerOf = ({ work }: Task): string | undefined => work.share?.owner;
  const costOf = ({ work }: Task): number => work.share?.costMs ?? 0;
  const usedBy = (task: Task): number => used.get(ownerOf(task) ?? '') ?? Number.NEGATIVE_INFINITY;

  const remove = (task: Task): void => {
    const at = tasks.indexOf(task);
    if (at !== -1) tasks.splice(at, 1);
    if (tasks.every((each) => each.work.share === undefined)) used.clear();
  };

  const forgetIdle = (): void => {
    const waiting = new Set(tasks.map(ownerOf));
    for (const owner of used.keys()) if (!waiting.has(owner)) used.delete(owner);
  };

  return {
    size: () => tasks.length,
    all: (): readonly Task[] => tasks,
    includes: (task: Task): boolean => tasks.includes(task),
    remove,
    push(task: Task): void {
      const owner = ownerOf(task);
      if (owner !== undefined && !used.has(owner)) {
        if (used.size >= OWNERS_MAX) forgetIdle();
        // Time in which an owner had nothing to do is no credit.
        used.set(owner, used.size === 0 ? 0 : Math.min(...used.values()));
      }
      tasks.push(task);
    },
    unshift: (task: Task): void => void tasks.unshift(task),
    shift(): Task | undefined {
      let [next] = tasks;
      if (next === undefined) return undefined;
      for (const task of tasks) {
        const [mine, least] = [usedBy(task), usedBy(next)];
        if (mine < least || (mine === least && costOf(task) < costOf(next))) next = task;
      }
      const owner = ownerOf(next);
      if (owner !== undefined) used.set(owner, (used.get(owner) ?? 0) + costOf(next));
      remove(next);
      return next;
    },
    /** The longest work of the owner that has most waiting: it is refused where there is no room for more. */
    last(): Task | undefined {
      const counts = new Map<string | undefined, number>();
      for (const task of tasks) counts.set(ownerOf(task), (counts.get(ownerOf(task)) ?? 0) + 1);
      const most = Math.max(...counts.values());
      let last: Task | undefined;
      for (const task of tasks) {
        if (counts.get(ownerOf(task)) !== most) continue;
        if (last === undefined || costOf(task) >= costOf(last)) last = task;
      }
      return last;
    },
  };
}
