/** A text as it may stand in the title of a test: quoted, and short. */
export const titleOf = (text: string | null | undefined): string =>
  text !== null && text !== undefined && text.length > 60
    ? `${JSON.stringify(text.slice(0, 12))}… of ${text.length} characters`
    : String(JSON.stringify(text));
