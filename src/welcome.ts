// The announcement of a start. A person at a terminal reads where it listens, the first key, and three lines that work when
// pasted; a log says where it listens, and in which file the key is.

import type { Config } from './config.ts';
import type { ProcessLog } from './core/logger.ts';
import { isLoopback } from './core/origin.ts';
import type { FirstKey } from './first-key.ts';

export type Started = FirstKey & { url: string; readyMs: number };

/** The key is never logged: a log is kept longer, and read by more people, than the output of a terminal. */
export function announceStart(config: Config, log: ProcessLog, started: Started): void {
  const models = describeModels(config);
  if (config.announces === 'on-terminal') process.stdout.write(renderWelcome(started, models));
  if (config.announces !== 'in-log') return;
  const { url, workspace, newKey, keyFile, readyMs } = started;
  if (newKey !== undefined)
    log.announce({ workspace, key_file: keyFile }, `the first key is made; it is in the file ${keyFile}`);
  log.announce(
    { url, docs: `${url}/docs`, portal: `${url}/admin`, models, key_file: keyFile },
    `Atrium listens on ${url} (ready in ${readyMs} ms)`,
  );
}

function describeModels({ gateway, server }: Config): string {
  if (!gateway.anonymous) return 'answer with a key only';
  return isLoopback(server.host)
    ? 'answer without a key to programs of this machine, to others with one'
    : 'answer without a key to every client that reaches this port and calls it localhost';
}

function renderWelcome(started: Started, models: string): string {
  const { url, workspace, newKey, newLink, keyFile, readyMs } = started;
  const lines = ['', `Atrium listens on ${url}  (ready in ${readyMs} ms)`, `  Interface  ${url}/docs`];
  // What follows the # stays in the browser: no log on the way has it.
  if (newLink === undefined) lines.push(`  Portal     ${url}/admin`);
  else lines.push(`  Portal     ${url}/admin/sign-in#${newLink}  (opens once, within 15 minutes)`);
  lines.push(`  Models     ${models}`);
  if (newKey !== undefined) lines.push(`  Workspace  ${workspace}`, `  Key        ${newKey}`);
  if (keyFile !== undefined)
    lines.push(`  Key file   ${keyFile}`, '', ...renderFirstSteps(url, workspace, keyFile));
  return `${lines.join('\n')}\n\n`;
}

/** A file travels: descriptor, upload, confirm. Plain curl and sed, so that it works on any machine. */
function renderFirstSteps(url: string, workspace: string, keyFile: string): string[] {
  const header = `-H "APIKeyHeader: $(cat '${keyFile}')"`;
  const toForm = String.raw`s/.*"fields":\{//; s/"([^"]+)":"([^"]*)"[,}]*/form-string = "\1=\2"\n/g`;
  const body = String.raw`{\"temp_key\":\"$(echo "$D" | sed -E 's/.*"key":"([^"]*).*/\1/')\",\"document_metadata\":{\"name\":\"hello.txt\"}}`;
  return [
    'Store a first file:',
    `  D=$(curl -s ${header} ${url}/v1/${workspace}/presigned/url)`,
    `  echo "$D" | sed -E '${toForm}' | curl -s -K - -F 'file=Hello, Atrium;filename=hello.txt' "$(echo "$D" | sed -E 's/.*"url":"([^"]*).*/\\1/')"`,
    `  curl -s ${header} -H 'content-type: application/json' -d "${body}" ${url}/v1/${workspace}/upload/confirm; echo`,
  ];
}
