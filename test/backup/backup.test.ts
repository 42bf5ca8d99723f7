// A backup holds one moment of the database and of the objects of its documents, whatever goes on meanwhile and wherever it is
// cut off; a restore makes the same service of it.

import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { requireManifest } from '../../src/backup/folder.ts';
import { verifyBackup } from '../../src/backup/verify.ts';
import { BACKUP_LOCK, ownerMark } from '../../src/documents/index.ts';
import { exclusively, isRunning } from '../../src/infra/postgres/exclusive.ts';
import { eventually } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { once } from '../support/once.ts';
import { shared } from '../support/shared.ts';
import { describeRows, fillTables } from './filled-tables.ts';
import { addDocument, backUp, contentOf, quiet, restoreInto, startStoreOfBackups } from './fixture.ts';

const store = await shared(startStoreOfBackups());
const source = await shared(store.start());

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

/** Of every table, with objects of several sizes; the later tests add to it. */
const filled = once(async () => {
  const contents = [new Uint8Array(), randomBytes(10), randomBytes(300_000), randomBytes(3_000_000)];
  const keys = await Promise.all(contents.map((content) => addDocument(source, content, 'a b/ü\\n+%/')));
  const tables = await fillTables(source.database.sql);
  return { keys, tables };
});

test('every table, every sequence and every object comes back as it was', async () => {
  const { keys, tables } = await filled();
  const folder = freshFolder();
  const report = await backUp(source, folder);
  expect(report).toMatchObject({ tables: tables.length, objects: 4, objects_copied: 4, missing_objects: 0 });
  await using target = await store.start();
  const expected = await describeRows(source.database.sql);
  for (const table of tables) expect(expected[table]).not.toStartWith('0 ');
  expect(await restoreInto(target, folder)).toMatchObject({
    tables: tables.length,
    rows: report.rows,
    objects: 4,
  });
  expect(await describeRows(target.database.sql)).toEqual(expected);
  for (const key of keys) {
    const content = await contentOf(source, key);
    expect(content).toBeDefined();
    expect(await contentOf(target, key)).toEqual(content);
  }
});

test('tables that the service makes anew where the database has what they need are left out', async () => {
  await using service = await store.start();
  const { sql } = service.database;
  await fillTables(sql);
  // As for a workspace whose vectors pgvector searches.
  await sql`INSERT INTO document_vector_graphs (workspace_id, model_id) VALUES ('acme', 1)`;
  await sql`CREATE TABLE document_graph_vectors (graph_id integer NOT NULL REFERENCES document_vector_graphs (id))`;
  await sql`INSERT INTO document_graph_vectors SELECT id FROM document_vector_graphs`;
  const folder = freshFolder();
  await backUp(service, folder);
  await using target = await store.start();
  await restoreInto(target, folder);
  expect(await target.database.sql`SELECT 1 FROM document_vector_graphs`).toHaveLength(0);
});

test('a second backup copies new objects alone, and drops those of purged documents', async () => {
  await using service = await store.start();
  const folder = freshFolder();
  const keys: string[] = [];
  for (let n = 0; n < 4; n++) keys.push(await addDocument(service));
  expect(await backUp(service, folder)).toMatchObject({ objects: 4, objects_copied: 4, bytes_copied: 4000 });
  const kept = await addDocument(service);
  expect(await backUp(service, folder)).toMatchObject({ objects: 5, objects_copied: 1, bytes_copied: 1000 });
  expect(await backUp(service, folder)).toMatchObject({ objects: 5, objects_copied: 0, bytes_copied: 0 });
  await service.database.sql`DELETE FROM documents WHERE object_key = ANY (${keys.slice(0, 3)})`;
  expect(await backUp(service, folder)).toMatchObject({ objects: 2, objects_copied: 0 });
  expect(filesOf(folder).filter((name) => name.startsWith('objects/'))).toHaveLength(2);
  await using target = await store.start();
  expect(await restoreInto(target, folder)).toMatchObject({ objects: 2 });
  for (const key of [...keys.slice(3), kept])
    expect(await contentOf(target, key)).toEqual(await contentOf(service, key));
});

test('while documents are added and purged, a backup has each object that its documents need', async () => {
  await using service = await store.start();
  const folder = freshFolder();
  const { sql } = service.database;
  const keys: string[] = [];
  for (let n = 0; n < 40; n++) keys.push(await addDocument(service));
  let over = false;
  /** Purged objects are deleted unless a backup is running, as the service does. */
  const purge = async (): Promise<void> => {
    for (const key of keys) {
      await sql`DELETE FROM documents WHERE object_key = ${key}`;
      if (!(await isRunning(sql, BACKUP_LOCK))) await service.objects.remove([{ key }]);
    }
  };
  const add = async (): Promise<void> => {
    while (!over) await addDocument(service);
  };
  const adding = add();
  const [report] = await Promise.all([backUp(service, folder), purge()]);
  over = true;
  await adding;
  expect(report.missing_objects).toBe(0);
  await using target = await store.start();
  await restoreInto(target, folder);
  const rows = await target.database.sql<{ key: string }[]>`SELECT object_key AS key FROM documents`;
  expect(rows).toHaveLength(report.objects);
  for (const { key } of rows) expect(await contentOf(target, key)).toBeDefined();
});

test('no two backups of a database run at once, and a folder belongs to one database', async () => {
  await using service = await store.start();
  const folder = freshFolder();
  const { sql } = service.database;
  const during = exclusively(sql, BACKUP_LOCK, () => backUp(service, folder));
  await expect(during).rejects.toThrow('another backup of this database is running');
  await backUp(service, folder);
  await sql`UPDATE documents_identity SET id = gen_random_uuid()`;
  await expect(backUp(service, folder)).rejects.toThrow('holds a backup of another database');
  const used = freshFolder();
  writeFileSync(join(used, 'notes.txt'), 'mine');
  await expect(backUp(service, used)).rejects.toThrow('holds other files, such as notes.txt');
});

test('an object that the store has lost is reported, and everything else is kept', async () => {
  await using service = await store.start();
  const folder = freshFolder();
  const [lost = '', kept = ''] = [await addDocument(service), await addDocument(service)];
  await service.objects.remove([{ key: lost }]);
  expect(await backUp(service, folder)).toMatchObject({ objects: 1, missing_objects: 1 });
  expect(requireManifest(folder).missing_objects).toEqual([lost]);
  expect((await verifyBackup(folder, quiet)).faults).toEqual([]);
  await using target = await store.start();
  expect(await restoreInto(target, folder)).toMatchObject({ objects: 1, missing_objects: 1 });
  expect(await contentOf(target, kept)).toBeDefined();
});

test('what stands in the folder is for its owner alone', async () => {
  await filled();
  const folder = join(freshFolder(), 'new', 'folder');
  await backUp(source, folder);
  const modes = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
    return `${entry.isDirectory() ? 'folder' : 'file'} ${mode.toString(8)}`;
  });
  expect(new Set(modes)).toEqual(new Set(['folder 700', 'file 600']));
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

/** A backup of two documents in a folder, for each that asks. */
const example = once(async () => {
  const folder = freshFolder();
  await using service = await store.start();
  const keys = [await addDocument(service), await addDocument(service)];
  await fillTables(service.database.sql);
  await backUp(service, folder);
  return { folder, keys };
});
const copyOfExample = async (): Promise<string> => {
  const copy = freshFolder();
  cpSync((await example()).folder, copy, { recursive: true });
  return copy;
};
const fileOf = (folder: string, part: string): string =>
  join(folder, filesOf(folder).find((name) => name.includes(part)) ?? '');
function flipBit(path: string, where = 0.5): void {
  const bytes = readFileSync(path);
  const at = Math.floor(bytes.length * where);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

test('a whole backup is verified without a fault', async () => {
  const { report, faults } = await verifyBackup((await example()).folder, quiet);
  expect(faults).toEqual([]);
  expect(report).toMatchObject({ objects: 2, faults: 0 });
});

const DAMAGE: [string, (folder: string) => void, RegExp][] = [
  [
    'a bit of an object',
    (folder) => flipBit(fileOf(folder, 'objects/'), 0.3),
    /^the object acme\/.* is damaged, in the file/,
  ],
  [
    'a bit of what is said about an object',
    (folder) => flipBit(fileOf(folder, 'objects/'), 0.99),
    /^the object acme\/.* is damaged/,
  ],
  [
    'a bit of the rows of a table',
    (folder) => flipBit(fileOf(folder, '/users.copy.zst')),
    /users.copy.zst: /,
  ],
  [
    'a bit of the list of objects',
    (folder) => flipBit(fileOf(folder, 'objects.list.zst')),
    /objects.list.zst: /,
  ],
  ['a missing table', (folder) => rmSync(fileOf(folder, '/keys.copy.zst')), /keys.copy.zst: .*no such file/i],
  ['a missing object', (folder) => rmSync(fileOf(folder, 'objects/')), /^the object acme\/.* is missing/],
  [
    'an object that ends early',
    (folder) => writeFileSync(fileOf(folder, 'objects/'), 'x'),
    /^the object acme\/.* is damaged: the file .* does not end as it was written/,
  ],
];

test.each(DAMAGE)('%s is found by a verification', async (_, damage, sentence) => {
  const folder = await copyOfExample();
  damage(folder);
  const { report, faults } = await verifyBackup(folder, quiet);
  expect(faults.join('\n')).toMatch(sentence);
  expect(report.faults).toBe(faults.length);
});

test('nothing of a damaged backup is restored', async () => {
  const folder = await copyOfExample();
  flipBit(fileOf(folder, 'objects/'));
  await using target = await store.start();
  const before = await describeRows(target.database.sql);
  await expect(restoreInto(target, folder)).rejects.toThrow('the backup is damaged');
  expect(await describeRows(target.database.sql)).toEqual(before);
});

test('the next backup copies an object again whose file was removed', async () => {
  await using service = await store.start();
  const folder = freshFolder();
  await addDocument(service);
  await backUp(service, folder);
  rmSync(fileOf(folder, 'objects/'));
  expect(await backUp(service, folder)).toMatchObject({ objects: 1, objects_copied: 1 });
  expect((await verifyBackup(folder, quiet)).report).toMatchObject({ objects: 1, faults: 0 });
});

function editManifest(folder: string, edit: (text: string) => string): void {
  const path = join(folder, 'manifest.json');
  writeFileSync(path, edit(readFileSync(path, 'utf8')));
}

const REFUSED: [string, (text: string) => string, string][] = [
  ['damaged', (text) => text.replace('"rows": ', '"rows": 1'), 'its content does not have its checksum'],
  ['of a newer format', (text) => text.replace('"format_version": 1', '"format_version": 2'), 'the format 2'],
  ['of another program', (text) => text.replace('atrium-backup', 'other'), 'is not the manifest of a backup'],
  ['no JSON', () => '{', 'it is no JSON'],
];

test.each(REFUSED)('a manifest that is %s is refused', async (_, edit, sentence) => {
  const folder = await copyOfExample();
  editManifest(folder, edit);
  await expect(verifyBackup(folder, quiet)).rejects.toThrow(sentence);
  await expect(restoreInto(source, folder)).rejects.toThrow(sentence);
  await expect(backUp(source, folder)).rejects.toThrow(sentence);
});

test('a folder without a backup is refused, and left as it is', async () => {
  const folder = freshFolder();
  await expect(verifyBackup(folder, quiet)).rejects.toThrow('holds no backup');
  expect(readdirSync(folder)).toEqual([]);
  const absent = join(folder, 'absent');
  await expect(restoreInto(source, absent)).rejects.toThrow('holds no backup');
  expect(existsSync(absent)).toBe(false);
});

test('a backup of a newer version, or of another history of the schema, is refused', async () => {
  const { folder } = await example();
  const known = requireManifest(folder).migrations;
  const newer = restoreInto(source, folder, { migrations: known.slice(0, -1) });
  await expect(newer).rejects.toThrow('the backup is of a newer version');
  const other = restoreInto(source, folder, { migrations: known.map((each) => ({ ...each, checksum: '' })) });
  await expect(other).rejects.toThrow('which this version does not have');
});

test('a service that has been used is refused, and left as it is', async () => {
  await filled();
  const { folder } = await example();
  const before = await describeRows(source.database.sql);
  await expect(restoreInto(source, folder)).rejects.toThrow(
    'the service is not empty: the database has a workspace',
  );
  expect(await describeRows(source.database.sql)).toEqual(before);
  await using target = await store.start();
  await target.transfer.put('acme/other.txt', { size: 1, type: 'text/plain', body: new Blob(['x']) });
  await expect(restoreInto(target, folder)).rejects.toThrow('such as acme/other.txt');
  // Of the bucket of the lost database they are documents that were confirmed after the backup.
  await target.objects.putEmpty(ownerMark(requireManifest(folder).database));
  expect(await restoreInto(target, folder)).toMatchObject({ objects: 2 });
});

test('a restore that was cut off can be made again, and what it has written is not written again', async () => {
  const { folder, keys } = await example();
  await using target = await store.start();
  const before = await describeRows(target.database.sql);
  let left = 1;
  const put: typeof target.transfer.put = async (...given) => {
    if (left-- <= 0) throw new Error('cut off');
    await target.transfer.put(...given);
  };
  await expect(restoreInto(target, folder, { store: { ...target.transfer, put } })).rejects.toThrow(
    'cut off',
  );
  expect(await describeRows(target.database.sql)).toEqual(before);
  left = 1;
  expect(await restoreInto(target, folder, { store: { ...target.transfer, put } })).toMatchObject({
    objects: 2,
  });
  for (const key of keys) expect(await contentOf(target, key)).toBeDefined();
});

const KILLED_BACKUP = join(import.meta.dir, 'killed-backup.ts');

test('a backup that was killed leaves the one before, and the next one goes on from it', async () => {
  await using service = await store.start();
  const folder = freshFolder();
  const { url } = service.database;
  const runUntil = async (at: string): Promise<number> => {
    const words = [folder, url, service.endpoint, service.objects.bucket, at];
    // The server may need a moment to see that a process before it has ended.
    await eventually('no backup to run', async () => !(await isRunning(service.database.sql, BACKUP_LOCK)));
    const child = Bun.spawn([process.execPath, KILLED_BACKUP, ...words], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return await child.exited;
  };
  await addDocument(service);
  await backUp(service, folder);
  const { id } = requireManifest(folder);
  for (let n = 0; n < 3; n++) await addDocument(service);
  for (const at of ['events', '1', '3']) {
    expect(await runUntil(at)).not.toBe(0);
    expect(requireManifest(folder).id).toBe(id);
    expect((await verifyBackup(folder, quiet)).report).toMatchObject({ objects: 1, faults: 0 });
  }
  await eventually('no backup to run', async () => !(await isRunning(service.database.sql, BACKUP_LOCK)));
  expect(await backUp(service, folder)).toMatchObject({ objects: 4 });
  expect((await verifyBackup(folder, quiet)).report).toMatchObject({ objects: 4, faults: 0 });
  expect(readdirSync(folder).filter((name) => name.startsWith('rows-'))).toHaveLength(1);
  expect(filesOf(folder).filter((name) => name.endsWith('.new'))).toEqual([]);
});
