// The data folder of a site: a copy of a template, on a disk of its own where the plan says so.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FaultyDisk, mountFaultyDisk } from '../../../support/faulty-disk.ts';
import { startService } from '../../../support/service.ts';
import { mountDisk, type SmallDisk } from '../../../support/small-disk.ts';
import type { PlannedParts } from '../planned.ts';

export type SiteFolder = AsyncDisposable & {
  /** The folder above it. */
  root: string;
  /** Another one after each loss of power. */
  dataDir(): string;
  smallDisk: SmallDisk | undefined;
  faultyDisk(): FaultyDisk | undefined;
  /** Puts the faulty disk over a folder with `data` in it, in place of the one that was there. */
  mount(from: string): Promise<void>;
};

/** A data folder with the schema, the bootstrap's workspace and an empty bucket, of a service that has ended. */
export async function makeTemplate(folder: string): Promise<string> {
  const dataDir = join(folder, 'template');
  mkdirSync(dataDir, { mode: 0o700 });
  const service = await startService({ dataDir });
  await service.child.stop();
  return dataDir;
}

export function copyFolder(from: string, to: string): void {
  const copied = Bun.spawnSync(['cp', '-a', from, to]);
  if (!copied.success) throw new Error(`cp: ${copied.stderr}`);
}

/** The faulty disk is mounted by the caller, once the folder is as the service is to find it. */
export function createSiteFolder(disk: PlannedParts['disk'], template: string): SiteFolder {
  const smallDisk = disk === 'small' ? mountDisk('400m') : undefined;
  const root = smallDisk?.path ?? mkdtempSync(join(tmpdir(), 'site-'));
  let dataDir = join(root, 'data');
  let faultyDisk: FaultyDisk | undefined;
  copyFolder(template, dataDir);
  return {
    root,
    smallDisk,
    dataDir: () => dataDir,
    faultyDisk: () => faultyDisk,
    async mount(from) {
      const mounted = await mountFaultyDisk({ from });
      const before = faultyDisk;
      faultyDisk = mounted;
      await before?.[Symbol.asyncDispose]();
      dataDir = join(mounted.path, 'data');
    },
    async [Symbol.asyncDispose]() {
      await faultyDisk?.[Symbol.asyncDispose]();
      if (smallDisk === undefined) rmSync(root, { recursive: true, force: true });
      else smallDisk.remove();
    },
  };
}
