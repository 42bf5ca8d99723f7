// The store as it is after years: it has long texts in many scripts before anything is measured.

import { eventually } from '../../test/support/child.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../test/support/service.ts';
import { createLibrary } from '../reading/library.ts';
import { SCRIPTS, textIn } from './scripts.ts';

/** Of each script. */
const TEXT_LENGTH = 400_000;
const FILLS_WITHIN_MS = 600_000;

/** The environment of a service that is to be filled. */
export const READS_FILES = { CONTENT: 'on' };

/** Adds a text of each script; resolves when all of them can be found by their words and their vectors. */
export async function fillStore(url: string): Promise<void> {
  const library = createLibrary(url);
  for (const script of SCRIPTS) {
    const temp_key = await library.uploaded(textIn(script, TEXT_LENGTH));
    await library.confirm({ temp_key, document_metadata: { name: `${script.name}.txt` } });
  }
  await eventually(
    'the store to be filled',
    async () => {
      const response = await fetch(`${url}/admin/api/workspaces/${WORKSPACE}/content/summary`, {
        headers: { APIKeyHeader: BOOTSTRAP_KEY },
      });
      const { documents, without_vectors } = (await response.json()) as {
        documents: Record<string, number>;
        without_vectors: number;
      };
      if ((documents['failed'] ?? 0) > 0) throw new Error('a text could not be read');
      return (
        (documents['ready'] ?? 0) >= SCRIPTS.length && documents['pending'] === 0 && without_vectors === 0
      );
    },
    FILLS_WITHIN_MS,
  );
}
