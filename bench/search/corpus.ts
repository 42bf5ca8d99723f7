// The documents that search is measured with: made from their position alone, the same at every run.

import type { Document } from '../../src/documents/document.ts';
import { below, createRandom, createWeighted, hexDigits, normal, pick, type Random } from './random.ts';
import { chooseLanguage, chooseWord, type Language } from './vocabulary.ts';

const SEED = 20_261_120;
const DAY_MS = 86_400_000;
export const CORPUS_END = Date.UTC(2026, 10, 20);
export const CORPUS_START = CORPUS_END - 3 * 365 * DAY_MS;

export const LARGE = 'large';
export type Workspace = { id: string; number: number; documents: number; users: number };

/** `large` is number 0, the small ones follow. */
export const workspacesOf = (sizes: { documents: number; others: number; small: number }): Workspace[] => [
  { id: LARGE, number: 0, documents: sizes.documents, users: 200 },
  ...Array.from({ length: sizes.others }, (_, at) => ({
    id: `small-${at + 1}`,
    number: at + 1,
    documents: sizes.small,
    users: 20,
  })),
];

/** The person who measures without being an administrator. */
export const READER = 0;

export const userId = (workspace: Workspace, user: number): string =>
  `00000000-0000-4000-8000-${(workspace.number * 1000 + user).toString(16).padStart(12, '0')}`;
export const userEmail = (workspace: Workspace, user: number): string =>
  `user-${user}@${workspace.id}.example.com`;

const OWNED_BY_READER = 500;
const CURATED_BY_READER = 200;
const stride = (workspace: Workspace, wanted: number): number =>
  Math.max(20, Math.floor(workspace.documents / wanted));

/** From about 20 % down to 0.01 % of the documents. */
export const TAGS = Array.from({ length: 200 }, (_, rank) => `${tagWord(rank)}-${rank + 1}`);
const TAG_SHARES = TAGS.map((_, rank) => 0.2 * ((rank + 6) / 6) ** -2.15);
const TAG_TRIES = 4;
const pickTag = createWeighted(TAG_SHARES);
/** How often one of the tries finds a tag, so that each tag has its share. */
const TAG_CHANCE = TAG_SHARES.reduce((sum, share) => sum + share, 0) / TAG_TRIES;

function tagWord(rank: number): string {
  return chooseWord(createRandom(SEED, 1, rank), 'en');
}

export const CATEGORIES = (
  'engineering finance legal marketing sales support operations research personnel procurement logistics ' +
  'production quality safety facilities software hardware training communication archive'
).split(' ');
const pickCategory = createWeighted(CATEGORIES.map((_, rank) => 1 / (rank + 4)));

export const FILE_TYPES = 'pdf docx xlsx txt pptx html md csv png json eml zip'.split(' ');
const pickFileType = createWeighted([34, 20, 12, 8, 7, 5, 4, 3, 3, 2, 1.5, 0.5]);

export const DEPARTMENTS = 'legal finance engineering sales support research people board'.split(' ');

/** Sizes in bytes: half of them between these two. */
export const sizeAt = (deviations: number): number => Math.round(120_000 * Math.exp(1.8 * deviations));

/** Without the workspace's other documents being made; ids are in the order of time, as the service's are. */
export function identityOf(workspace: Workspace, position: number): { id: string; createdAt: Date } {
  const random = createRandom(SEED, 2, workspace.number, position);
  const share = (position + random()) / workspace.documents;
  const createdAt = new Date(Math.floor(CORPUS_START + (CORPUS_END - CORPUS_START) * share));
  const time = createdAt.getTime().toString(16).padStart(12, '0');
  const rest = hexDigits(random, 18);
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6)}`;
  return { id, createdAt };
}

/** The document at a position of a workspace; the same at every call. */
export function documentAt(workspace: Workspace, position: number): Document {
  const random = createRandom(SEED, 3, workspace.number, position);
  const { id, createdAt } = identityOf(workspace, position);
  const language = chooseLanguage(random);
  const fileType = FILE_TYPES[pickFileType(random)] ?? 'pdf';
  const curators = curatorsAt(random, workspace, position);
  const summary = random() < 0.1 ? null : sentence(random, language, 15 + below(random, 46));
  return {
    id,
    createdAt,
    fileType,
    summary,
    curators,
    workspaceId: workspace.id,
    uploadId: `${hexDigits(random, 8)}-${hexDigits(random, 4)}-4${hexDigits(random, 3)}-8${hexDigits(random, 3)}-${hexDigits(random, 12)}`,
    name: nameOf(random, language, createdAt, fileType),
    objectKey: `${workspace.id}/${pick(random, FOLDERS)}${id}.${fileType}`,
    fileSize: random() < 0.005 ? null : sizeAt(normal(random)),
    fileHash: hexDigits(random, 32),
    tags: tagsOf(random),
    categories: categoriesOf(random),
    access: curators.length === 0 ? null : { curators },
    slots: slotsOf(random, language, createdAt),
    ...visibilityOf(random, workspace, position),
  };
}

const FOLDERS = ['', 'inbox/', 'shared/2026/', 'projects/north/', 'projects/south/'];

const isReaders = (workspace: Workspace, position: number): boolean =>
  position % stride(workspace, OWNED_BY_READER) === 0;
const isCuratedByReader = (workspace: Workspace, position: number): boolean =>
  position % stride(workspace, CURATED_BY_READER) === 1;

function visibilityOf(random: Random, workspace: Workspace, position: number) {
  const readers = isReaders(workspace, position);
  const closed = readers || isCuratedByReader(workspace, position) || random() < 0.3;
  // A few own much, most own little.
  const owner = readers ? READER : 1 + Math.floor((workspace.users - 1) * random() ** 2);
  const [binned, archived] = [random() < 0.01, random() < 0.02];
  const later = new Date(CORPUS_END);
  return {
    ownerId: userId(workspace, owner),
    status: binned ? 'deleted' : closed ? 'private' : 'public',
    deletedAt: binned ? later : null,
    archivedAt: archived ? later : null,
  } as const;
}

function curatorsAt(random: Random, workspace: Workspace, position: number): string[] {
  if (isCuratedByReader(workspace, position)) return [userEmail(workspace, READER)];
  if (random() >= 0.05) return [];
  const first = 1 + below(random, workspace.users - 1);
  return [userEmail(workspace, first)];
}

function nameOf(random: Random, language: Language, createdAt: Date, fileType: string): string {
  const parts = sentence(random, language, 2 + below(random, 4)).split(' ');
  if (random() < 0.4) parts.push(createdAt.toISOString().slice(0, 10));
  if (random() < 0.2) parts.push(`v${1 + below(random, 9)}`);
  if (random() < 0.02) parts.unshift(pick(random, ['📎', '会議', '計画', 'Ελλάδα', 'ﬁnal']));
  const [first = '', ...rest] = parts;
  const name = [first.charAt(0).toUpperCase() + first.slice(1), ...rest].join(
    pick(random, [' ', ' ', '_', '-']),
  );
  return `${name}.${random() < 0.05 ? fileType.toUpperCase() : fileType}`;
}

function sentence(random: Random, language: Language, length: number): string {
  let text = chooseWord(random, language);
  for (let count = 1; count < length; count++) text += ` ${chooseWord(random, language)}`;
  return text;
}

function tagsOf(random: Random): string[] | null {
  const tags: string[] = [];
  for (let tried = 0; tried < TAG_TRIES; tried++) {
    const tag = random() < TAG_CHANCE ? TAGS[pickTag(random)] : undefined;
    if (tag !== undefined && !tags.includes(tag)) tags.push(tag);
  }
  return tags.length === 0 ? null : tags;
}

function categoriesOf(random: Random): string[] {
  const first = CATEGORIES[pickCategory(random)] ?? 'archive';
  const second = CATEGORIES[pickCategory(random)] ?? 'archive';
  return random() < 0.3 && second !== first ? [first, second] : [first];
}

function slotsOf(random: Random, language: Language, createdAt: Date): Record<string, unknown> {
  const third: Record<string, unknown>[] = [
    { language },
    { score: below(random, 100) },
    { review: { score: 1 + below(random, 5), by: pick(random, DEPARTMENTS), done: random() < 0.5 } },
  ];
  return { department: pick(random, DEPARTMENTS), year: createdAt.getUTCFullYear(), ...pick(random, third) };
}
