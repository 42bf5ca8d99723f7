// What a start prints for a person: where it listens, the first key, and three lines that work when pasted.

export type Welcome = {
  url: string;
  workspace: string;
  /** The key itself, at the start that made it. */
  newKey: string | undefined;
  /** Where the key is kept, when it is kept for the operator. */
  keyFile: string | undefined;
  readyMs: number;
  /** Whether models answer whoever asks. */
  anonymous: boolean;
};

export function renderWelcome({ url, workspace, newKey, keyFile, readyMs, anonymous }: Welcome): string {
  const lines = ['', `Atrium listens on ${url}  (ready in ${readyMs} ms)`, `  Interface  ${url}/docs`];
  lines.push(`  Models     ${anonymous ? 'answer without a key, too' : 'answer with a key only'}`);
  if (newKey !== undefined) lines.push(`  Workspace  ${workspace}`, `  Key        ${newKey}`);
  if (keyFile !== undefined) lines.push(`  Key file   ${keyFile}`);
  if (newKey !== undefined || keyFile !== undefined)
    lines.push('', ...renderFirstSteps(url, workspace, keyFile, newKey));
  return `${lines.join('\n')}\n`;
}

/** A file travels: descriptor, upload, confirm. Plain curl and sed, so that it works on any machine. */
function renderFirstSteps(
  url: string,
  workspace: string,
  keyFile: string | undefined,
  newKey: string | undefined,
): string[] {
  const key = keyFile === undefined ? newKey : `$(cat '${keyFile}')`;
  const header = `-H "APIKeyHeader: ${key}"`;
  const toForm = String.raw`s/.*"fields":\{//; s/"([^"]+)":"([^"]*)"[,}]*/form-string = "\1=\2"\n/g`;
  const body = String.raw`{\"temp_key\":\"$(echo "$D" | sed -E 's/.*"key":"([^"]*).*/\1/')\",\"document_metadata\":{\"name\":\"hello.txt\"}}`;
  return [
    'Store a first file:',
    `  D=$(curl -s ${header} ${url}/v1/${workspace}/presigned/url)`,
    `  echo "$D" | sed -E '${toForm}' | curl -s -K - -F 'file=Hello, Atrium;filename=hello.txt' "$(echo "$D" | sed -E 's/.*"url":"([^"]*).*/\\1/')"`,
    `  curl -s ${header} -H 'content-type: application/json' -d "${body}" ${url}/v1/${workspace}/upload/confirm`,
  ];
}
