// Percent-encoding as Signature Version 4 defines it.

/** Encodes every byte but A-Z a-z 0-9 - . _ ~ as %XX, upper case. */
export function encodeUriPart(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** As encodeUriPart, but keeps `/`. */
export function encodeUriPath(path: string): string {
  return encodeUriPart(path).replaceAll('%2F', '/');
}
