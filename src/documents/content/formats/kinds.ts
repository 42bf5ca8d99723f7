// What kind of file bytes are: by their first bytes, because an extension may be wrong, then by the extension, then by the type
// that the upload named.

const EXTENSIONS = {
  pdf: 'pdf',
  docx: 'docx docm dotx',
  pptx: 'pptx pptm ppsx',
  xlsx: 'xlsx xlsm',
  opendocument: 'odt ott ods ots odp otp',
  html: 'html htm xhtml',
  markdown: 'md markdown mdx',
  table: 'csv tsv tab',
  json: 'json jsonl ndjson geojson ipynb webmanifest',
  mail: 'eml',
  plain: 'txt text rst adoc asciidoc org tex srt vtt ics vcf',
  code:
    'c h cc cpp cxx hpp cs java kt kts scala go rs swift m mm d zig js mjs cjs jsx ts mts cts tsx vue svelte css scss less ' +
    'graphql proto py pyi rb php pl pm lua r jl ex exs erl hs ml fs clj lisp dart sh bash zsh fish ps1 bat cmd sql xml xsd ' +
    'xsl svg yaml yml toml ini cfg conf properties env diff patch log tf gradle cmake mk asm s vb pas',
} as const;

export type Kind = keyof typeof EXTENSIONS;

const BY_EXTENSION: ReadonlyMap<string, Kind> = new Map(
  (Object.entries(EXTENSIONS) as [Kind, string][]).flatMap(([kind, extensions]) =>
    extensions.split(' ').map((extension) => [extension, kind] as const),
  ),
);

const BY_TYPE: readonly (readonly [type: RegExp, kind: Kind])[] = [
  [/^application\/pdf$/, 'pdf'],
  [/wordprocessingml/, 'docx'],
  [/presentationml/, 'pptx'],
  [/spreadsheetml/, 'xlsx'],
  [/^application\/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation)/, 'opendocument'],
  [/^(text\/html|application\/xhtml\+xml)$/, 'html'],
  [/^text\/(x-)?markdown$/, 'markdown'],
  [/^text\/(csv|tab-separated-values)$/, 'table'],
  [/^application\/(.+\+)?(json|jsonl|x-ndjson)$/, 'json'],
  [/^message\/rfc822$/, 'mail'],
  [/^text\/plain$/, 'plain'],
  [/^(text\/.+|application\/(.+\+)?(xml|javascript|yaml))$/, 'code'],
];

/** By the name and the type that a file was uploaded with; undefined for kinds that are not read. */
export function kindOf({ name, contentType }: { name: string; contentType: string }): Kind | undefined {
  const extension = /\.([a-z0-9]{1,16})$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  return BY_EXTENSION.get(extension) ?? BY_TYPE.find(([pattern]) => pattern.test(type))?.[1];
}
