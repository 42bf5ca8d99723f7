// One person at work: uploads, confirms, changes, bins, purges, one thing after the other and at random, and writes
// into the ledger what was asked before it asks, and what was answered after.

import type { Answer } from '../../acceptance/support/caller.ts';
import { type DocumentRecord, type Library, md5 } from '../../acceptance/support/library.ts';
import { type Content, postFile } from '../../acceptance/support/uploads.ts';
import { eventually } from '../../support/child.ts';
import { answered, LostAnswer } from './caller.ts';
import {
  describeEntry,
  type Entry,
  isEarlier,
  isSame,
  mayBeMissing,
  type State,
  tempKeyOf,
  toState,
} from './ledger.ts';
import type { Random } from './random.ts';

export type LoadClient = {
  readonly entries: Entry[];
  /** What an emptying of the bin without an answer was about: all of it is gone, or none. */
  emptied: Entry[];
};

export type Load = { client: LoadClient; library: Library; random: Random; retentionMs: number };

type Kept = Exclude<State, { phase: 'absent' }>;

const RACERS_MAX = 3;
/** A person's pause after an action is shorter: what was made is read after each crash. */
const PAUSE_MS = 30;

/** Works until `ended` says so; then a lost answer is expected, before it is a failure, as any wrong answer is. */
export async function runLoad(load: Load, ended: () => boolean): Promise<void> {
  try {
    while (!ended()) {
      await (actions(load)[weighted(load.random)] ?? actions(load).upload)();
      await Bun.sleep(load.random.below(PAUSE_MS));
    }
  } catch (error) {
    if (!(error instanceof LostAnswer && ended())) throw error;
  }
}

const WEIGHTS = {
  upload: 8,
  confirm: 8,
  repost: 3,
  patch: 4,
  archive: 2,
  bin: 4,
  restore: 2,
  purge: 2,
  empty: 1,
} as const;
type Action = keyof typeof WEIGHTS;

function weighted(random: Random): Action {
  const names = Object.keys(WEIGHTS) as Action[];
  const lots = names.flatMap((name) => Array.from({ length: WEIGHTS[name] }, () => name));
  return random.pick(lots) ?? 'upload';
}

function actions(load: Load): Record<Action, () => Promise<void>> {
  const { client, library, random } = load;
  const oneIn = (phase: State['phase']) =>
    random.pick(client.entries.filter(({ state }) => state.phase === phase));
  /** One document in the phase is changed, if there is one. */
  const change = async (
    phase: Kept['phase'],
    next: (state: Kept) => State,
    ask: (id: string, next: State) => Promise<Answer>,
  ): Promise<void> => {
    const entry = oneIn(phase);
    if (entry?.id === undefined || entry.state.phase === 'absent') return;
    const changed = next(entry.state);
    entry.possible = [changed];
    const { id } = entry;
    accept(entry, await insist(() => ask(id, changed)));
    acknowledge(entry, changed);
  };

  return {
    upload: () => upload(load),
    async confirm() {
      const current = client.entries.filter(({ superseded }) => !superseded);
      const entry =
        random.pick(current.filter((each) => each.upload === 'stored')) ??
        random.pick(current.filter(({ state }) => state.phase === 'live'));
      if (entry !== undefined) await confirm(load, entry);
    },
    /** A signed form may be used again: that makes another document, and leaves the one before as it is. */
    async repost() {
      const entry = oneIn('live');
      if (entry === undefined || entry.superseded) return;
      entry.superseded = true;
      await upload(load, entry);
    },
    patch: () =>
      change(
        'live',
        (state) => {
          const name = random.chance(0.3) ? `${word(random)} renamed.txt` : state.fields.name;
          return { ...state, fields: { name, summary: word(random), tags: [word(random)] } };
        },
        (id, next) => library.patch(id, next.phase === 'absent' ? {} : next.fields),
      ),
    archive: () =>
      change(
        'live',
        (state) => ({ ...state, archived: !state.archived }),
        (id, next) =>
          next.phase !== 'absent' && next.archived ? library.archive(id) : library.unarchive(id),
      ),
    bin: () => change('live', (state) => ({ ...state, phase: 'binned' }), library.bin),
    restore: () => change('binned', (state) => ({ ...state, phase: 'live' }), library.restore),
    purge: () => change('binned', () => ({ phase: 'absent' }), library.purge),
    async empty() {
      client.emptied = client.entries.filter(({ state }) => state.phase === 'binned');
      for (const entry of client.emptied) entry.possible = [{ phase: 'absent' }];
      const { answer } = await insist(library.emptyTrash);
      if (answer.status !== 204) throw new Error(`emptying the bin: ${answer.status} ${answer.text}`);
      for (const entry of client.emptied) acknowledge(entry, { phase: 'absent' });
      client.emptied = [];
    },
  };
}

const word = (random: Random): string => `w${random.below(2 ** 31).toString(36)}`;

type Insisted = { answer: Answer; wasRefused: boolean };

/** Asks again what a starved machine refuses for the moment: an attempt that was refused may have been carried out all the same. */
async function insist(ask: () => Promise<Answer>): Promise<Insisted> {
  let wasRefused = false;
  const answer = await eventually('an answer other than 503', async () => {
    const given = await ask();
    if (given.status !== 503) return given;
    wasRefused = true;
    return undefined;
  });
  return { answer, wasRefused };
}

/** What was carried out by an attempt before finds nothing more to do. */
function accept(entry: Entry, { answer: { status, text }, wasRefused }: Insisted): void {
  if (status !== 200 && status !== 204 && !(wasRefused && status === 404))
    throw new Error(`${entry.firstName}: ${status} ${text}`);
}

function acknowledge(entry: Entry, state: State): void {
  entry.state = state;
  entry.possible = [];
}

async function upload({ client, library, random }: Load, earlier?: Entry): Promise<void> {
  const content = makeContent(random);
  const form = earlier?.form ?? (await library.descriptor());
  const entry: Entry = {
    form,
    earlier,
    superseded: false,
    md5: md5(content),
    sizeBytes: content.length,
    firstName: `${crypto.randomUUID()} ä.bin`,
    sentAt: performance.now(),
    upload: 'sent',
    id: undefined,
    state: { phase: 'absent' },
    possible: [],
    link: undefined,
  };
  client.entries.push(entry);
  await post(entry, content);
  entry.upload = 'stored';
}

async function post(entry: Entry, content: Content): Promise<void> {
  await answered(`the upload of ${entry.firstName}`, async () => {
    const response = await postFile(entry.form, content);
    const text = await response.text();
    return { status: response.status, text };
  }).then(({ status, text }) => {
    if (status !== 204) throw new Error(`the upload of ${entry.firstName}: ${status} ${text}`);
  });
}

/** Mostly small; some take long enough to be under way when the end comes. */
function makeContent(random: Random): Uint8Array<ArrayBuffer> {
  const kibibytes = random.chance(0.1) ? random.between({ from: 2048, to: 12_288 }) : random.below(64);
  const content = new Uint8Array(kibibytes * 1024 + random.below(1024));
  for (let offset = 0; offset < content.length; offset += 65_536)
    crypto.getRandomValues(content.subarray(offset, offset + 65_536));
  return content;
}

/**
 * Confirms once or several times at once, each with another summary. Whoever wins, all get that one record. A
 * document that exists already stays as it is.
 */
export async function confirm({ library, random, retentionMs }: Load, entry: Entry): Promise<void> {
  const exists = entry.upload === 'confirmed';
  const racers = random.chance(0.5) ? 1 : random.between({ from: 2, to: RACERS_MAX });
  const variants = Array.from({ length: racers }, (): Kept => {
    const fields = { name: entry.firstName, summary: word(random), tags: null };
    return { phase: 'live', archived: false, fields };
  });
  if (!exists) entry.possible = [...entry.possible, ...variants];
  const outcomes = await Promise.allSettled(
    variants.map(({ fields }) =>
      library.confirm({ temp_key: tempKeyOf(entry), folder: 'under/load', document_metadata: fields }),
    ),
  );
  const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const all = answers.filter(({ status }) => status === 201).map(({ text }) => JSON.parse(text));
  const records = all.filter(({ id }) => !isEarlier(entry, id));
  for (const record of records) checkRecord(entry, record);
  // Of several at once one may come between the sweeper, which takes an old upload, and another one's record of it.
  const mayMiss = !exists && mayBeMissing(entry, retentionMs);
  for (const { status, text } of answers) {
    const earlier = status === 201 && isEarlier(entry, JSON.parse(text).id);
    if ((status === 404 || earlier) && mayMiss) {
      if (records.length === 0) entry.upload = 'gone';
    } else if (earlier) throw new Error(`a file is lost, and the one before it confirmed again: ${text}`);
    else if (status !== 201 && status !== 503) {
      throw new Error(`the confirm of ${describeEntry(entry)}: ${status} ${text}`);
    }
  }
  for (const outcome of outcomes)
    if (outcome.status === 'rejected' && records.length === 0) throw outcome.reason;
}

/** Of whatever confirm: one record, with the bytes that were uploaded. */
function checkRecord(entry: Entry, record: DocumentRecord): void {
  const refuse = (reason: string) => new Error(`${entry.firstName}: ${reason}: ${JSON.stringify(record)}`);
  if (record.file_hash !== entry.md5 || record.file_size !== entry.sizeBytes) throw refuse('other bytes');
  if (entry.id !== undefined && record.id !== entry.id) throw refuse(`a second record beside ${entry.id}`);
  const archived = entry.state.phase !== 'absent' && entry.state.archived;
  const state = toState(record, archived);
  const known = [entry.state, ...entry.possible].find((each) => isSame(each, state));
  if (known === undefined) throw refuse('nobody asked for this');
  entry.id = record.id;
  entry.upload = 'confirmed';
  acknowledge(entry, known);
}
