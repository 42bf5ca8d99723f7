// A process of its own that asks a server the same small thing over and over, on one connection that it keeps. For each
// line on its standard input it tells what the longest answer took since: that long the server's event loop stood still.

import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

const PAUSE_MS = 2;
const RECONNECT_MS = 20;
/** After which it is clear which thread answers. */
const FIRST_ANSWERS = 200;

export type ProbeReport = {
  /** The longest answer, less the time for which the two processes waited for a processor. */
  longestMs: number;
  answers: number;
  /** How often no connection was to be had. */
  refused: number;
};

/** `thread`: which of the process answers: `main`, or the one that runs most often while it is only asked. */
const [host = '', port = '', request = '', pid = '', thread = ''] = process.argv.slice(2);

/** Nanoseconds for which a thread was ready to run and had no processor, and how often it ran (sched-stats). */
function scheduleOf(process: string, task: string): { waitedNs: number; runs: number } {
  try {
    const [, waitedNs, runs] = readFileSync(`/proc/${process}/task/${task}/schedstat`, 'utf8').split(' ');
    return { waitedNs: Number(waitedNs), runs: Number(runs) };
  } catch {
    return { waitedNs: 0, runs: 0 };
  }
}

const runsOfAll = (): Map<string, number> =>
  new Map(readdirSync(`/proc/${pid}/task`).map((task) => [task, scheduleOf(pid, task).runs]));

let answering = pid;
const runsBefore = runsOfAll();

function findThread(): void {
  const since = ([task, runs]: [string, number]): number => runs - (runsBefore.get(task) ?? 0);
  const [busiest] = [...runsOfAll()].sort((one, other) => since(other) - since(one));
  answering = busiest?.[0] ?? pid;
}

const waited = (): number =>
  (scheduleOf(`${process.pid}`, `${process.pid}`).waitedNs + scheduleOf(pid, answering).waitedNs) / 1_000_000;

let report: ProbeReport = { longestMs: 0, answers: 0, refused: 0 };
let answersInAll = 0;
let askedAt = 0;
let waitedBefore = 0;
let taking = false;

function ask(socket: Socket): void {
  askedAt = performance.now();
  waitedBefore = waited();
  socket.write(request);
}

function answered(): void {
  const tookMs = performance.now() - askedAt;
  report.answers++;
  if (++answersInAll === FIRST_ANSWERS && thread !== 'main') findThread();
  if (tookMs > report.longestMs) report.longestMs = Math.max(0, tookMs - (waited() - waitedBefore));
  if (!taking) return;
  taking = false;
  process.stdout.write(`${JSON.stringify(report)}\n`);
  report = { longestMs: 0, answers: 0, refused: 0 };
}

function open(): void {
  const socket = connect(Number(port), host);
  let received = '';
  socket.setNoDelay(true);
  socket.on('connect', () => ask(socket));
  socket.on('data', (data) => {
    received += data.toString('latin1');
    const head = received.indexOf('\r\n\r\n');
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received)?.[1] ?? 0);
    if (head === -1 || received.length < head + 4 + length) return;
    if (/^HTTP\/1.1 (?:2|304)/.test(received)) answered();
    else report.refused++;
    received = '';
    setTimeout(() => (socket.destroyed ? undefined : ask(socket)), PAUSE_MS);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    report.refused++;
    setTimeout(open, RECONNECT_MS);
  });
}

process.stdin.on('data', () => {
  taking = true;
});
open();
