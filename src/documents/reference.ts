import { isUuid } from '../core/ids.ts';

/** What a path's `document` means: text shaped like a UUID is tried as an id before it is tried as a name. */
export const parseReference = (reference: string): { reference: string; id: string | undefined } => ({
  reference,
  id: isUuid(reference) ? reference.toLowerCase() : undefined,
});
