// Terms: digests that stand for "this document has that". 128 bits of SHA-256 over workspace, kind and value, so
// that terms need no dictionary that writers would have to share, and no two of a workspace are ever the same.

/** Being empty is a term of its own for the attributes that mostly are filled, being filled for the others. */
export const RARER_SIDES = {
  tags: 'empty',
  categories: 'empty',
  file_type: 'empty',
  file_hash: 'empty',
  summary: 'filled',
  slots: 'filled',
  access: 'filled',
} as const;
export type SidedAttribute = keyof typeof RARER_SIDES;

export type LabelledAttribute = 'tags' | 'categories' | 'file_type' | 'file_hash';

/** Makes a workspace's terms, as 32 hexadecimal digits; values are normalised text. */
export type Terms = ReturnType<typeof createTerms>;

export function createTerms(workspaceId: string) {
  const digest = (...parts: string[]): string =>
    new Bun.CryptoHasher('sha256')
      .update([workspaceId, ...parts].join('\0'))
      .digest('hex')
      .slice(0, 32);
  return {
    owner: (ownerId: string) => digest('owner', ownerId),
    /** An e-mail as permission checks compare it. */
    curator: (email: string) => digest('curator', email),
    label: (attribute: LabelledAttribute, value: string) => digest(attribute, value),
    leaf: (attribute: 'access' | 'slots', key: string, value: string) => digest(attribute, key, value),
    /** A run of letters and digits in the name. */
    inName: (word: string) => digest('name', word),
    side: (attribute: SidedAttribute) => digest(`${RARER_SIDES[attribute]}:${attribute}`),
  };
}
