// Which workspaces have graphs: those of many passages, and those that the memory of a process has no room for, where the database
// has pgvector. A graph is made while the memory of processes answers, and answers itself once it has all vectors; from there on the
// database keeps it current.

import { messageOf } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { RunOutcome } from '../../../core/periodic.ts';
import { abortable } from '../../../core/wait.ts';
import type { Reserved, Sql } from '../../../infra/postgres/client.ts';
import { FIRST_ID } from '../../rows.ts';
import { waitForEarlierTransactions } from '../../transactions.ts';
import { rowBytes } from '../memory.ts';
import type { GraphState, GraphStore } from './store.ts';

/**
 * A workspace has a graph from `passagesMin` passages on (0: none has), or from where `memoryBytesMax` ends, and down to half of
 * that.
 */
export function createGraphUpkeep(deps: {
  sql: Sql;
  store: GraphStore;
  passagesMin: number;
  memoryBytesMax: number;
  log: Logger;
}) {
  const { store, passagesMin, log } = deps;
  const leastOf = ({ dimensions }: GraphState): number =>
    Math.min(passagesMin, deps.memoryBytesMax / rowBytes(dimensions));
  const isWanted = (state: GraphState): boolean =>
    passagesMin > 0 && state.passages >= leastOf(state) * (state.id === null ? 1 : 0.5);

  return async (signal: AbortSignal): Promise<RunOutcome> => {
    const all = await store.list();
    const states = all.filter((state) => state.id !== null || isWanted(state));
    if (states.length === 0) return undefined;
    const available = await store.isAvailable();
    if (!available || (await isLost(states))) {
      if (states.some(({ id }) => id !== null)) await store.removeAll();
      return available ? 'again' : undefined;
    }
    if (states.some(({ id }) => id === null)) {
      if (!(await isPrepared())) return undefined;
      for (const state of states) if (state.id === null) await store.add(state);
      return 'again';
    }
    const outdated = states.filter((state) => !isWanted(state));
    for (const state of outdated) await onOwnConnection(signal, (connection) => retire(connection, state));
    const unready = states.filter((state) => !state.ready && !outdated.includes(state));
    for (const state of unready)
      if ((await onOwnConnection(signal, (connection) => build(connection, state, signal))) === 'again')
        return 'again';
    return undefined;
  };

  /** The extension was dropped meanwhile, and all that depended on it. */
  async function isLost(states: readonly GraphState[]): Promise<boolean> {
    for (const { id, ready } of states)
      if (id !== null && ready && (await store.indexState(id)) === 'none') return true;
    return false;
  }

  async function isPrepared(): Promise<boolean> {
    try {
      await store.prepare();
      return true;
    } catch (error) {
      const reason = messageOf(error);
      log.info({ reason }, 'pgvector cannot be created in the database; vectors are searched in memory');
      return false;
    }
  }

  /** A statement may take many minutes; the server ends it some time after the connection was closed. */
  async function onOwnConnection<T>(signal: AbortSignal, run: (connection: Reserved) => Promise<T>) {
    signal.throwIfAborted();
    const connection = deps.sql.reserve({ unlimited: true });
    try {
      return await abortable(run(connection), signal);
    } finally {
      connection.release();
    }
  }

  async function build(connection: Reserved, state: GraphState, signal: AbortSignal): Promise<RunOutcome> {
    const { id: graph, workspaceId, dimensions, passages } = state;
    if (graph === null) return 'again';
    const before = await store.indexState(graph);
    // A connection that is closed by now.
    if (before === 'making') return 'again';
    if (before === 'broken') await store.dropIndex(connection, graph);
    // Transactions that have not seen the graph add nothing to it: what they have stored is found once they have ended.
    await waitForEarlierTransactions(deps.sql, signal);
    for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
      signal.throwIfAborted();
      after = await store.fill(connection, state, after);
    }
    if (before !== 'valid') await store.createIndex(connection, graph, dimensions);
    await store.setReady(graph, true);
    log.info({ workspace: workspaceId, passages }, 'pgvector searches these vectors from now on');
    return undefined;
  }

  async function retire(connection: Reserved, { id: graph, workspaceId }: GraphState): Promise<void> {
    if (graph === null) return;
    await store.setReady(graph, false);
    await store.dropIndex(connection, graph);
    await store.remove(connection, graph);
    log.info({ workspace: workspaceId }, 'pgvector does not search these vectors any more');
  }
}
