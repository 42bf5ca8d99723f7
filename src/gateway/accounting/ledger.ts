// Accounts of answered requests, summed in a file that is mapped into memory: adding to one costs no system call, and
// outlives the process. Once a second the sums become usage events; a file that a dead process left is handed on by
// whoever finds it, and counts once, because its events are named after it.

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import type { RecordEvent } from '../../core/event.ts';
import { newRandomId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { LEDGER_ORPHAN_MS, LEDGER_ROTATE_MS, LEDGER_SLOTS, LEDGER_STALE_MS } from '../limits.ts';
import type { Account, Measures } from './account.ts';
import { MODEL_USAGE_TYPE, toLedgerWorkspace } from './projection.ts';

export type Ledger = {
  /** Adds a request to its account. Never throws: what cannot be kept is logged. */
  add(account: Account, measures: Measures): void;
  job: Job;
};

type Open = { id: string; sums: Float64Array; slots: Map<string, number>; openedAtMs: number };

/** Float64 each, in this order. */
const SUMS = [
  'requests',
  'estimated',
  'prompt_tokens',
  'completion_tokens',
  'cost',
  'latency_ms',
  'first_events',
  'first_event_ms',
] as const;
const SLOT_SIZE = SUMS.length;
const FILE_BYTES = LEDGER_SLOTS * SLOT_SIZE * 8;
const EMPTY = new Uint8Array(FILE_BYTES);

export function createLedger(deps: {
  directory: string;
  record: RecordEvent;
  clock: Clock;
  log: Logger;
}): Ledger {
  const { directory, record, clock, log } = deps;
  const own = newRandomId();
  let files = 0;
  let open: Open | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  let orphanTimer: ReturnType<typeof setInterval> | undefined;

  const begin = (): Open => {
    const id = `${own}-${++files}`;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    try {
      // The accounts' names come first: sums without names could not be handed on.
      appendFileSync(namesPath(id), `${clock.now().getTime()}\n`, { mode: 0o600 });
      // Written throughout: where the disk had no room for a page, touching it would kill the process.
      writeFileSync(sumsPath(id), EMPTY, { flag: 'ax', mode: 0o600 });
    } catch (error) {
      remove(id);
      throw error;
    }
    const mapped = Bun.mmap(sumsPath(id), { shared: true });
    return {
      id,
      sums: new Float64Array(mapped.buffer, mapped.byteOffset, LEDGER_SLOTS * SLOT_SIZE),
      slots: new Map(),
      openedAtMs: performance.now(),
    };
  };
  const namesPath = (id: string) => join(directory, `${id}.names`);
  const sumsPath = (id: string) => join(directory, `${id}.sums`);

  const slotOf = (file: Open, account: Account): number => {
    const name = `${account.keyId} ${account.workspaceId} ${account.endpoint} ${account.model} ${account.target} ${account.outcome}`;
    const known = file.slots.get(name);
    if (known !== undefined) return known;
    const slot = file.slots.size;
    appendFileSync(namesPath(file.id), `${JSON.stringify(account)}\n`);
    file.slots.set(name, slot);
    return slot;
  };

  /** Events of a file's sums; the file goes once they are kept elsewhere. */
  const handOn = (id: string, sums: Float64Array): void => {
    // Another process has found it, and handed on all of it: nothing was added since.
    if (!existsSync(namesPath(id))) return;
    const [openedAt = '', ...accounts] = readFileSync(namesPath(id), 'utf8').split('\n');
    const time = new Date(Number(openedAt));
    for (const [slot, text] of accounts.entries()) {
      const values = sums.subarray(slot * SLOT_SIZE, (slot + 1) * SLOT_SIZE);
      const account = text === '' ? undefined : parseAccount(text);
      if (account === undefined || values.every((value) => value === 0)) continue;
      const { workspaceId, subject, keyId, ...rest } = account;
      const measured = Object.fromEntries(SUMS.map((name, index) => [name, values[index] ?? 0]));
      record({
        workspaceId: toLedgerWorkspace(workspaceId),
        type: MODEL_USAGE_TYPE,
        subject,
        data: { value: values[0] ?? 0, key_id: keyId, ...rest, ...measured },
        eventId: `${id}-${slot}`,
        time,
      });
    }
    remove(id);
  };
  const remove = (id: string): void => {
    rmSync(sumsPath(id), { force: true });
    rmSync(namesPath(id), { force: true });
  };
  const rotate = (): void => {
    const file = open;
    open = undefined;
    if (file !== undefined) handOn(file.id, file.sums);
  };
  const safely = (what: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      log.error({ err: error }, what);
    }
  };
  const adopt = (): void => {
    for (const name of readdirSync(directory).filter((each) => each.endsWith('.names'))) {
      const id = name.slice(0, -'.names'.length);
      const found = statSync(namesPath(id), { throwIfNoEntry: false });
      if (id.startsWith(own) || found === undefined || Date.now() - found.mtimeMs < LEDGER_ORPHAN_MS)
        continue;
      const bytes = readBytes(sumsPath(id));
      if (bytes.length === FILE_BYTES)
        handOn(id, new Float64Array(bytes.buffer, bytes.byteOffset, FILE_BYTES / 8));
      else remove(id);
    }
  };

  return {
    add(account, { requests, usage, cost, latencyMs, firstEventMs }) {
      safely('the use of a model is not accounted for', () => {
        // Others may have taken over what was not handed on for long: after a pause of the machine, too.
        const stale = open !== undefined && performance.now() - open.openedAtMs > LEDGER_STALE_MS;
        if (stale || open?.slots.size === LEDGER_SLOTS) rotate();
        open ??= begin();
        const { sums } = open;
        const at = slotOf(open, account) * SLOT_SIZE;
        const values = [
          ...[requests, usage.estimated ? requests : 0, usage.promptTokens, usage.completionTokens],
          ...[cost, requests * latencyMs],
          ...(firstEventMs === undefined ? [0, 0] : [1, firstEventMs]),
        ];
        for (let index = 0; index < SLOT_SIZE; index++)
          sums[at + index] = (sums[at + index] ?? 0) + (values[index] ?? 0);
      });
    },
    job: {
      name: 'gateway.ledger',
      start() {
        const rotateSafely = () => safely('the use of models cannot be handed on', rotate);
        const adoptSafely = () => safely('accounts that were left cannot be looked for', adopt);
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        adoptSafely();
        timer = setInterval(rotateSafely, LEDGER_ROTATE_MS);
        orphanTimer = setInterval(adoptSafely, LEDGER_ORPHAN_MS / 2);
      },
      async stop() {
        clearInterval(timer);
        clearInterval(orphanTimer);
        safely('the use of models cannot be handed on', rotate);
      },
      settle: async () => safely('the use of models cannot be handed on', rotate),
    },
  };
}

function parseAccount(text: string): Account | undefined {
  try {
    return parseJson(text) as Account;
  } catch {
    // Half a line: its writer died before it counted anything there.
    return undefined;
  }
}

/** In a buffer of its own, so that numbers can be read from its start. */
function readBytes(path: string): Uint8Array {
  try {
    return new Uint8Array(readFileSync(path));
  } catch {
    return new Uint8Array();
  }
}
