// Values whose structure nothing vouches for.

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members of an object; none of anything else. */
export const fieldsOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
