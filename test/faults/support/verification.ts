// After a crash: everything that was acknowledged is there, what was under way happened or did not, and nothing else.

import { type DocumentRecord, type Library, md5 } from '../../acceptance/support/library.ts';
import { type Entry, settle, toState } from './ledger.ts';
import { confirm, type Load } from './load-client.ts';

const AT_ONCE = 8;

/** Finds every document of the client in a state that the ledger allows, with its bytes, and in the right lists. */
export async function verify(load: Load): Promise<void> {
  const { client, library, random } = load;
  const archived = new Set((await library.archived()).items.map(({ id }) => id));
  await forEach(client.entries, async (entry) => {
    const record = await findRecord(library, entry);
    settle(entry, record === undefined ? { phase: 'absent' } : toState(record, archived.has(record.id)));
    if (record === undefined) return;
    entry.id = record.id;
    entry.upload = 'confirmed';
  });
  const phases = new Set(client.emptied.map(({ state }) => state.phase));
  if (phases.size > 1) throw new Error('an emptying of the bin that got no answer was done in part');
  client.emptied = [];
  await forEach(client.entries.filter(isWorthConfirming), async (entry) => {
    // A client that got no answer asks again, or never comes back.
    if (random.chance(0.6)) await confirm(load, entry);
  });
  await compareLists(library, client.entries);
  await forEach(client.entries, (entry) => compareBytes(library, entry));
}

/** Also what has its record: then the answer is that record. */
const isWorthConfirming = ({ upload, state, superseded }: Entry): boolean =>
  !superseded && (upload === 'sent' || upload === 'stored' || state.phase !== 'absent');

async function findRecord(library: Library, entry: Entry): Promise<DocumentRecord | undefined> {
  const answer = await library.detail(entry.id ?? entry.firstName);
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw new Error(`${entry.firstName}: ${answer.status} ${answer.text}`);
  const record = JSON.parse(answer.text) as DocumentRecord;
  const namesake = await library.read(record.name);
  if (namesake.id !== record.id) throw new Error(`${entry.firstName}: two records, one upload`);
  return record;
}

async function compareLists(library: Library, entries: readonly Entry[]): Promise<void> {
  const idsOf = (isListed: (entry: Entry) => boolean) =>
    entries
      .filter(isListed)
      .map(({ id }) => id)
      .sort();
  const bin = await library.binned();
  const archive = await library.archived();
  const found = {
    bin: bin.items.map(({ id }) => id).sort(),
    archive: archive.items.map(({ id }) => id).sort(),
  };
  const expected = {
    bin: idsOf(({ state }) => state.phase === 'binned'),
    archive: idsOf(({ state }) => state.phase === 'live' && state.archived),
  };
  const counts = [bin.count, archive.count];
  if (!Bun.deepEquals(found, expected) || !Bun.deepEquals(counts, [found.bin.length, found.archive.length]))
    throw new Error(`the lists hold ${JSON.stringify({ found, counts })}, not ${JSON.stringify(expected)}`);
}

/** By a URL that was signed before the crash, where the store still has its port, else by a new one. */
async function compareBytes(library: Library, entry: Entry): Promise<void> {
  if (entry.id === undefined) return;
  if (entry.state.phase === 'absent') {
    const { status } = await library.downloadUrl(entry.id);
    if (status !== 404) throw new Error(`${entry.firstName}: a download URL of what is gone: ${status}`);
    return;
  }
  const fresh = await library.link(entry.id);
  const earlier = entry.link !== undefined && new URL(entry.link).origin === new URL(fresh).origin;
  const response = await fetch(earlier ? (entry.link ?? fresh) : fresh);
  const content = await response.bytes();
  entry.link = fresh;
  if (response.status !== 200 || md5(content) !== entry.md5)
    throw new Error(`${entry.firstName}: ${response.status}, ${content.length} bytes of ${entry.sizeBytes}`);
}

async function forEach<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const work = async (): Promise<void> => {
    for (const item of waiting) await run(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
