/** A file, or a part of one that is a file itself. `name` and `contentType` are what the uploader says. */
export type SourceFile = { bytes: Uint8Array; name: string; contentType: string };
