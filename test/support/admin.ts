// The administration's command line, as an operator runs it.

import { join } from 'node:path';

const ADMIN = join(import.meta.dir, '../../src/admin.ts');

export type AdminResult = { code: number; out: string; err: string };

/** On the database. */
export const runAdmin = (url: string, words: readonly string[]): Promise<AdminResult> =>
  runAdminWith({ DATABASE_URL: url }, words);

export async function runAdminWith(
  settings: Record<string, string>,
  words: readonly string[],
): Promise<AdminResult> {
  const child = Bun.spawn([process.execPath, ADMIN, ...words], {
    env: { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}
