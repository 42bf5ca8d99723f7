// A small corpus made to be nasty, and queries that ask for its corners. Everything comes from one seed.

import { newId } from '../../../src/core/ids.ts';
import { type Access, curatorsOf, type Document } from '../../../src/documents/document.ts';
import { createSearchEntries, rewriteEntries } from '../../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../../src/documents/store.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';

export type Person = { id: string; email: string };

export type Random = {
  whole(below: number): number;
  pick<T>(items: readonly T[]): T;
  chance(share: number): boolean;
};

/** mulberry32: the same numbers for the same seed, everywhere. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    whole: (below) => Math.floor(next() * below),
    pick: (items) => items[Math.floor(next() * items.length)] as never,
    chance: (share) => next() < share,
  };
}

/** Accents, case, compatibility forms, blanks, numbers, quotes, and the syntax of everything behind. */
export const NASTY = [
  'Café',
  'cafe',
  'CAFE\u0301',
  'Ｆｕｌｌ',
  'ﬁle',
  'İstanbul',
  'istanbul',
  'STRASSE',
  'straße',
  'ΟΔΟΣ',
  'οδος',
  '한국어',
  '東京都',
  'ไทย',
  'naïve',
  '007',
  '7',
  '1e3',
  '1000',
  '-5',
  'NaN',
  'null',
  'true',
  ' padded ',
  '\u00a0',
  '   ',
  '100%',
  '50_50',
  'a\\b',
  "it's",
  '"quoted"',
  'a->b',
  'x AND y',
  'NOT',
  '(1=1)',
  '*',
  '.*',
  '[a-z]',
  '🎉 party',
  '👩‍👩‍👧',
  'tab\there',
  'new\nline',
  '\u0085edge',
  'zero\u200bwidth',
  'Ǆ',
  'ſ',
  'report',
  'Report',
  'reports',
  'rep',
  'quarterly report 2024',
  'e',
  'é',
  'ª',
  '①',
  `${'long '.repeat(120)}tail`,
  `${'x'.repeat(500)}`,
];

const WORDS = [
  'invoice',
  'annual',
  'budget',
  'plan',
  'draft',
  'final',
  'Vertrag',
  'résumé',
  'données',
  '2024',
  '42',
  'a',
  'of',
];

export const OWNERS: readonly Person[] = [0, 1, 2, 3].map((number) => ({
  id: `00000000-0000-4000-8000-00000000000${number}`,
  email: `person${number}@example.org`,
}));

function randomText(random: Random, parts: number): string {
  return Array.from({ length: 1 + random.whole(parts) }, () =>
    random.chance(0.6) ? random.pick(WORDS) : random.pick(NASTY),
  ).join(random.pick([' ', ' ', '-', '']));
}

const label = (random: Random): string =>
  random.chance(0.7) ? random.pick(WORDS) : random.pick(NASTY.filter((text) => text.length < 100));

export const KEYS = ['dept', 'Dept', 'year', 'a->b', '', 'nested', 'list', 'ключ', '"q"'];

function leaf(random: Random, depth: number): unknown {
  const kind = random.whole(depth > 2 ? 6 : 9);
  if (kind < 3) return random.pick([...WORDS, ...NASTY]);
  if (kind === 3) return random.pick([0, 7, -5, 1000, 2024, 1.5, 1e21, 0.000001]);
  if (kind === 4) return random.chance(0.5);
  if (kind === 5) return random.pick([null, '', '  ']);
  if (kind < 8) return Array.from({ length: random.whole(3) }, () => leaf(random, depth + 1));
  return Object.fromEntries(
    Array.from({ length: random.whole(3) }, () => [random.pick(KEYS), leaf(random, depth + 1)]),
  );
}

const dictionary = (random: Random): Record<string, unknown> | null => {
  if (random.chance(0.2)) return null;
  return Object.fromEntries(
    Array.from({ length: random.whole(4) }, () => [random.pick(KEYS), leaf(random, 0)]),
  );
};

const labels = (random: Random): string[] | null =>
  random.chance(0.15) ? null : Array.from({ length: random.whole(4) }, () => label(random));

export const DAY_MS = 86_400_000;
export const EPOCH_MS = Date.UTC(2024, 0, 1);

export function randomDocument(random: Random, workspaceId: string): Document {
  const id = newId();
  const access: Access | null = random.chance(0.4)
    ? null
    : {
        ...dictionary(random),
        ...(random.chance(0.6) ? { curators: [random.pick(OWNERS).email.toUpperCase()] } : {}),
      };
  const name = randomText(random, 3).slice(0, 500) || 'x';
  const fileType = random.pick(['pdf', 'txt', 'docx', '7', null]);
  const status = random.pick(['public', 'public', 'private', 'private', 'deleted'] as const);
  const folder = random.pick(['', 'Reports/', 'CAFÉ/100%/']);
  return {
    id,
    workspaceId,
    uploadId: newId(),
    ownerId: random.pick(OWNERS).id,
    name,
    objectKey: `${workspaceId}/${folder}${id}${fileType === null ? '' : `.${fileType}`}`,
    // Few moments, so that ties are common.
    createdAt: new Date(EPOCH_MS + random.whole(40) * (DAY_MS / 4) + random.pick([0, 0, 1, 999])),
    fileSize: random.chance(0.1)
      ? null
      : random.pick([0, 1, 5, 5, 1024, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER]),
    fileType,
    fileHash: random.chance(0.1)
      ? null
      : random.pick(['d41d8cd98f00b204e9800998ecf8427e', 'ABC', '007', label(random)]),
    tags: labels(random),
    categories: labels(random),
    summary: random.chance(0.2)
      ? null
      : random.chance(0.1)
        ? random.pick(['', '  '])
        : randomText(random, 25),
    access,
    slots: dictionary(random),
    curators: curatorsOf(access),
    status,
    deletedAt: status === 'deleted' ? new Date(EPOCH_MS) : null,
    archivedAt: random.chance(0.15) ? new Date(EPOCH_MS) : null,
  };
}

/** Stores documents as they are, moments and states included. */
export async function storeDocuments(sql: Sql, documents: readonly Document[]): Promise<void> {
  for (const each of documents) {
    const json = (value: object | null) => (value === null ? null : sql.json(value as never));
    await sql`
      INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, created_at, file_size, file_type,
        file_hash, tags, categories, summary, access, slots, curators, status, status_before_bin, deleted_at, archived_at)
      VALUES (${each.id}, ${each.workspaceId}, ${each.uploadId}, ${each.ownerId}, ${each.name}, ${each.objectKey},
        ${each.createdAt}, ${each.fileSize}, ${each.fileType}, ${each.fileHash}, ${each.tags}::text[],
        ${each.categories}::text[], ${each.summary}, ${json(each.access)}, ${json(each.slots)}, ${each.curators}::text[],
        ${each.status}, ${each.status === 'deleted' ? 'public' : null}, ${each.deletedAt}, ${each.archivedAt})`;
  }
  await rewriteEntries(sql);
}

/** All documents as the service reads them back: JSON as the database keeps it. */
export async function readDocuments(sql: Sql, ids: readonly string[]): Promise<Document[]> {
  const store = createDocumentStore(sql, createSearchEntries());
  const viewer = { workspaceId: '', userId: '', email: '', admin: true };
  const found: Document[] = [];
  for (const id of ids) {
    for (const workspaceId of ['acme', 'other']) {
      const document = await store.find({ ...viewer, workspaceId }, id, 'live');
      if (document !== undefined) found.push(document);
    }
  }
  return found;
}
