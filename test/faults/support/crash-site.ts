// The service at work on one data folder, through one crash after the other.

import { expect } from 'bun:test';
import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Caller } from '../../acceptance/support/caller.ts';
import { createLibrary, type Library } from '../../acceptance/support/library.ts';
import { createPeople } from '../../acceptance/support/people.ts';
import { eventually } from '../../support/child.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../../support/service.ts';
import { type BucketAccess, listKeys } from './bucket.ts';
import { asksAgain, createPlainCaller } from './caller.ts';
import { beginUpload } from './half-upload.ts';
import type { Entry } from './ledger.ts';
import { type Load, type LoadClient, runLoad } from './load-client.ts';
import type { Random } from './random.ts';
import { verify } from './verification.ts';

const CLIENTS = 5;
const RETENTION_SECONDS = 4;
const HALF_UPLOAD_BYTES = 6_000_000;
const LOAD_MS = { from: 200, to: 1600 };

export type Site = {
  dataDir: string;
  /** Where the service finds what it does not embed; asked before each start. */
  environment(): Record<string, string>;
  bucket(): BucketAccess;
  random: Random;
};

type Person = { key: string; client: LoadClient };

/**
 * Lets people work, kills, starts again and verifies, as often as told; at the end the bucket must be tidy.
 * Returns how many bytes all documents have.
 */
export async function crashRepeatedly(site: Site, crashes: number): Promise<number> {
  let service = await start(site);
  try {
    const people = await meetPeople(service);
    for (let crash = 1; crash <= crashes; crash++) {
      const cutOff = await workUntilKilled(service, people, { site, isLast: crash === crashes });
      const killed = service;
      service = await start(site);
      try {
        const call = asksAgain(createPlainCaller(service.url));
        await Promise.all(loads(call, people, site).map(verify));
        const answer = await library(call, BOOTSTRAP_KEY).confirm(confirmationOf(cutOff));
        if (answer.status !== 404) throw new Error(`half an upload was confirmed: ${answer.text}`);
      } catch (error) {
        throw new Error(`after crash ${crash}: ${messageOf(error)}\n${complaints(killed, service)}`, {
          cause: error,
        });
      }
    }
    await expectTidyBucket(loads(asksAgain(createPlainCaller(service.url)), people, site), site);
    await service.child.stop();
    return people.flatMap(({ client }) => client.entries).reduce((sum, entry) => sum + bytesOf(entry), 0);
  } finally {
    service.child.kill('SIGKILL');
    killPostgres(site.dataDir);
  }
}

const bytesOf = ({ state, sizeBytes }: Entry): number => (state.phase === 'absent' ? 0 : sizeBytes);

const start = ({ dataDir, environment }: Site): Promise<RunningService> =>
  startService({
    dataDir,
    detached: true,
    environment: {
      UPLOAD_RETENTION_SECONDS: `${RETENTION_SECONDS}`,
      SWEEP_INTERVAL_SECONDS: '1',
      ...environment(),
    },
  });

const library = (call: Caller, key: string): Library => createLibrary(call, { workspace: WORKSPACE, key });

/** Of people at work: reads are asked again where a starved machine refuses them; what becomes of changes is theirs to say. */
function callerAtWork({ url }: RunningService): Caller {
  const once = createPlainCaller(url);
  const again = asksAgain(once);
  return (method, path, options) => (method === 'GET' ? again : once)(method, path, options);
}

async function meetPeople(service: RunningService): Promise<Person[]> {
  const access = { workspace: WORKSPACE, adminKey: BOOTSTRAP_KEY };
  const { newKey } = createPeople(asksAgain(createPlainCaller(service.url)), access);
  const keys = await Promise.all(Array.from({ length: CLIENTS }, () => newKey()));
  return keys.map(({ key }) => ({ key, client: { entries: [], emptied: [] } }));
}

const loads = (call: Caller, people: readonly Person[], { random }: Site): Load[] =>
  people.map(({ key, client }) => ({
    client,
    library: library(call, key),
    random: random.fork(),
    retentionMs: RETENTION_SECONDS * 1000,
  }));

/** Returns the key of an upload that the crash cut off, or that was given up then. */
async function workUntilKilled(
  service: RunningService,
  people: readonly Person[],
  { site, isLast }: { site: Site; isLast: boolean },
): Promise<string> {
  const call = callerAtWork(service);
  const form = await library(call, BOOTSTRAP_KEY).descriptor();
  const upload = await beginUpload(form, HALF_UPLOAD_BYTES);
  let killed = false;
  const work = loads(call, people, site).map((load) => runLoad(load, () => killed));
  // The moment has to be a random one: there is nothing to wait for.
  const moment = Bun.sleep(site.random.between(LOAD_MS));
  // What is looked for at the end has to be there: a purge takes two steps, of which a crash cuts off one.
  const hasDocument = () =>
    people.some(({ client }) => client.entries.some(({ state }) => state.phase === 'live'));
  const something = isLast ? eventually('a document', hasDocument) : undefined;
  await Promise.race([Promise.all([moment, something]), Promise.all(work)]);
  killed = true;
  service.child.kill('SIGKILL');
  if (site.random.chance(0.5)) killPostgres(site.dataDir);
  await Promise.all([service.child.exited, ...work]);
  upload.abandon();
  return form.fields['key'] ?? '';
}

const confirmationOf = (tempKey: string) => ({ temp_key: tempKey, document_metadata: { name: 'half.bin' } });

/** Kills the server that the service embeds; left alone, it is the next start's to deal with. */
function killPostgres(dataDir: string): void {
  try {
    const { pid } = JSON.parse(readFileSync(join(dataDir, 'postgres/connection.json'), 'utf8'));
    if (readlinkSync(`/proc/${pid}/cwd`).startsWith(dataDir)) process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already, or there is none.
  }
}

/** Waits for the sweeper: then each document has its object, and nothing else is there. */
async function expectTidyBucket(all: readonly Load[], site: Site): Promise<void> {
  const bucket = site.bucket();
  const prefix = `s3://${bucket.bucket}/`;
  const expected: string[] = [];
  for (const { client, library } of all) {
    for (const { id, state } of client.entries) {
      if (id === undefined || state.phase === 'absent') continue;
      expected.push((await library.read(id)).storage_url.slice(prefix.length));
    }
  }
  expected.sort();
  expect(expected.length).toBeGreaterThan(0);
  let found: string[] = [];
  await eventually('the sweeper', async () => {
    found = await listKeys(bucket);
    return Bun.deepEquals(found, expected);
  }).catch(() => expect(found).toEqual(expected));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What the two processes warned of, for whoever reads the failure. */
const complaints = (...services: RunningService[]): string =>
  services
    .flatMap(({ child }) => child.output().split('\n'))
    .filter((line) => /"level":(?:[456]0|"(?:warn|error|fatal)")/.test(line))
    .slice(-20)
    .join('\n');
