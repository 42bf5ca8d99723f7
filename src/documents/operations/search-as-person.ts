import { newRandomId } from '../../core/ids.ts';
import type { Document } from '../document.ts';
import { normalise } from '../filter/normalise.ts';
import { DEFAULT_ORDER } from '../filter/order.ts';
import { wordsIn } from '../search/words.ts';
import type { createSearch } from './search.ts';

export type SearchAsPersonDeps = {
  search: ReturnType<typeof createSearch>;
  findUserByEmail(workspaceId: string, email: string): Promise<{ id: string } | undefined>;
};

/**
 * What a person, known by e-mail, would find with their own key: documents that have every word of the text. Somebody
 * who is unknown to the workspace finds what is public, or curated by that e-mail; a text without a word finds nothing.
 */
export function createSearchAsPerson({ search, findUserByEmail }: SearchAsPersonDeps) {
  return async (
    { workspaceId, email }: { workspaceId: string; email: string },
    text: string,
    limit: number,
  ): Promise<{ documents: Document[]; total: number }> => {
    if (wordsIn(normalise(text)).length === 0) return { documents: [], total: 0 };
    const user = email === '' ? undefined : await findUserByEmail(workspaceId, email);
    const viewer = { workspaceId, userId: user?.id ?? newRandomId(), email, admin: false };
    const { documents, total } = await search(viewer, {
      ...{ q: text, archived: 'false', limit },
      order_by: [...DEFAULT_ORDER],
    });
    return { documents, total };
  };
}
