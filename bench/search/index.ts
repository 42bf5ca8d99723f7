// Search over a million documents: every shape beside a floor of the same run, alone, beside slow searches and beside
// writes, from Postgres and, with MEILI_URL, from Meilisearch.

import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { whole } from '../lib/report.ts';
import { workspacesOf } from './corpus.ts';
import { startFloor } from './floor.ts';
import { ensureCorpus } from './load.ts';
import { measureMirror } from './mirror.ts';
import { measureBesideChanges, measureBesideSlow, measureQuick, measureWrites } from './mixed.ts';
import { startServer } from './server.ts';
import type { Session } from './session.ts';
import { measureShapes } from './shape-tables.ts';
import { patchesOf } from './writes.ts';

const PARTS = ['shapes', 'slow', 'writes', 'mirror'] as const;

const OPTIONS = {
  documents: { type: 'string', default: '1000000' },
  others: { type: 'string', default: '100' },
  small: { type: 'string', default: '10000' },
  data: { type: 'string', default: join(import.meta.dir, '../.data') },
  seconds: { type: 'string', default: '5' },
  changes: { type: 'string', default: '500' },
  parts: { type: 'string', default: PARTS.join(',') },
  only: { type: 'string', default: '' },
} as const;

const USAGE = `bun run bench search [--documents 1000000] [--others 100] [--small 10000] [--data bench/.data]
  [--seconds 5] [--changes 500] [--parts ${PARTS.join(',')}] [--only <part of a shape's name>]
  --parts load makes the corpus and no more; mirror needs MEILI_URL (and MEILI_API_KEY)`;

export async function run(): Promise<void> {
  const { documents, others, small, data, seconds, changes, parts, only } = readArguments();
  const [large, ...rest] = workspacesOf({ documents, others, small });
  if (large === undefined) throw new Error('no workspace');
  const total = documents + others * small;
  console.log(`Corpus of ${whole(total)} documents in ${data}`);
  await ensureCorpus(data, [large, ...rest]);
  const open = { folder: data, large, small: rest, seconds, only };
  if (parts.some((part) => ['shapes', 'slow', 'writes'].includes(part))) {
    await withSession(open, {}, async (session) => {
      if (parts.includes('shapes'))
        await measureShapes(session, { mirrored: false, title: 'Postgres alone' });
      if (!parts.includes('slow') && !parts.includes('writes')) return;
      const idle = await measureQuick(session);
      if (parts.includes('slow')) await measureBesideSlow(session, idle);
      if (!parts.includes('writes')) return;
      await measureBesideChanges(session, { idle, perSecond: changes });
      await measureWrites(session, idle);
    });
  }
  const { MEILI_URL, MEILI_API_KEY } = process.env;
  if (!parts.includes('mirror') || MEILI_URL === undefined) return;
  const environment = { MEILI_URL, ...(MEILI_API_KEY === undefined ? {} : { MEILI_API_KEY }) };
  await withSession(open, environment, (session) => measureMirror(session, changes));
}

type Opened = Omit<Session, 'server' | 'floor' | 'patches'> & { folder: string };

async function withSession(
  { folder, ...rest }: Opened,
  environment: Record<string, string>,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const server = await startServer(folder, rest.large, environment);
  const floor = startFloor(server.databaseUrl, rest.large);
  try {
    await work({ ...rest, server, floor, patches: patchesOf(server.url, rest.large) });
  } finally {
    await floor.stop();
    await server.child.stop();
  }
}

/** Ends the process with the usage for an option that is none, or no number. */
function readArguments() {
  try {
    const { values } = parseArgs({ args: process.argv.slice(3), options: OPTIONS });
    return {
      documents: count(values.documents),
      others: count(values.others),
      small: count(values.small),
      data: resolve(values.data),
      seconds: count(values.seconds),
      changes: count(values.changes),
      parts: values.parts.split(',').map(part),
      only: new RegExp(values.only),
    };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
    process.exit(2);
  }
}

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`${text} is not a number`);
  return Number(text);
}

function part(name: string): string {
  if (name !== 'load' && !PARTS.some((known) => known === name)) throw new Error(`there is no part ${name}`);
  return name;
}
