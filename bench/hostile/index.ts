// `bun run bench hostile`: every family of hostile input at every route that takes input, by the lowest caller that is let
// in: what it costs the event loop and the memory, and how it is answered; then questions and answers that are compared with long
// texts (`--only texts`). The store is filled with texts in many scripts before. The tables stand in
// docs/reference/hostile-input.md; a cell that breaks the rule ends the run with an error.

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Flood, flood, SERVICE_FLOODS, storeFloods } from './connections.ts';
import { type Meter, startMeter } from './meter.ts';
import { renderPage, withTexts } from './page.ts';
import { type Attempt, attemptsAt, bodyBytesMax } from './requests.ts';
import { breachesOf, type Result } from './rule.ts';
import { type Setting, startSetting } from './setting.ts';
import { storeAttempts } from './store-requests.ts';
import { startTexts } from './texts.ts';
import { renderHead } from './wire.ts';

/** A pause of the machine is not the service's: what breaks the rule is tried again, and the best run counts. */
const RUNS_MAX = 3;
const PAGE = join(import.meta.dir, '../../docs/reference/hostile-input.md');

async function tryAttempt(meter: Meter, { cell, prepare }: Attempt): Promise<Result> {
  const work = prepare();
  let best: Result | undefined;
  for (let run = 0; run < RUNS_MAX && (best === undefined || best.breaches.length > 0); run++) {
    const { value, stallMs, memoryMiB } = await meter.measure(work);
    const cost = {
      stallMs: Math.min(stallMs, best?.stallMs ?? stallMs),
      memoryMiB: Math.min(memoryMiB, best?.memoryMiB ?? memoryMiB),
    };
    const statuses = [...new Set([...(best?.statuses ?? []), ...value])];
    best = { ...cell, ...cost, statuses, breaches: breachesOf(cell, cost, statuses) };
  }
  if (best === undefined) throw new Error('nothing was tried');
  return best;
}

const floodAttempt = (url: URL, target: string, each: Flood, beside: () => Promise<number[]>): Attempt => {
  const bytes = each.bytes(url);
  return {
    cell: {
      target,
      group: 'connections',
      family: each.name,
      largest: false,
      bytes: bytes.length * each.count,
      held: true,
      beside: true,
    },
    prepare: () => () => flood(url, { count: each.count, bytes: () => bytes }, beside),
  };
};

export const serviceMeter = ({ url, service }: Pick<Setting, 'url' | 'service'>): Promise<Meter> =>
  startMeter({
    url,
    pid: service.child.pid,
    mainThread: true,
    request: renderHead(url, { method: 'GET', target: '/healthz', headers: [] }),
  });

const storeMeter = ({ store, download, service }: Setting): Promise<Meter> =>
  startMeter({
    url: store,
    pid: service.child.pid,
    mainThread: false,
    request: renderHead(store, { method: 'GET', target: download.pathname + download.search, headers: [] }),
  });

type Choice = { only: string; family: string };

/** For cells that take long. */
const tell = ({ target, family, stallMs, memoryMiB }: Result): void =>
  console.log(`${target}, ${family}: ${stallMs.toFixed(0)} ms, ${memoryMiB.toFixed(0)} MiB`);

async function tryAll(
  meter: Meter,
  attempts: Iterable<Attempt>,
  { family }: Choice,
  told: (result: Result) => void = () => undefined,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const attempt of attempts) {
    if (!attempt.cell.family.includes(family)) continue;
    const result = await tryAttempt(meter, attempt);
    results.push(result);
    told(result);
    if (result.breaches.length > 0)
      console.log(
        `  ${result.target}, ${result.group}, ${result.family} (${result.bytes} bytes): ${result.breaches.join('; ')}`,
      );
  }
  return results;
}

async function tryService(setting: Setting, choice: Choice): Promise<Result[]> {
  const { url } = setting;
  await using meter = await serviceMeter(setting);
  const results: Result[] = [];
  for (const target of setting.targets.filter(({ name }) => name.includes(choice.only))) {
    const bytesMax = await bodyBytesMax(url, target);
    const found = await tryAll(meter, attemptsAt(url, target, bytesMax), choice);
    console.log(`${target.name}: ${found.length} cells`);
    results.push(...found);
  }
  if (choice.only !== '' && choice.only !== 'connections') return results;
  const floods = SERVICE_FLOODS.map((each) => floodAttempt(url, 'the service', each, setting.upload));
  return [...results, ...(await tryAll(meter, floods, choice))];
}

async function tryStore(setting: Setting, choice: Choice): Promise<Result[]> {
  const { store } = setting;
  const bucket = store.pathname.slice(1);
  await using meter = await storeMeter(setting);
  const floods = storeFloods(bucket).map((each) => floodAttempt(store, 'object store', each, setting.upload));
  return await tryAll(meter, [...storeAttempts(store, bucket), ...floods], choice);
}

async function tryTexts(choice: Choice): Promise<Result[]> {
  await using setting = await startTexts();
  await using meter = await serviceMeter(setting);
  return await tryAll(meter, setting.attempts(), choice, tell);
}

async function tryRoutes(choice: Choice): Promise<Result[]> {
  await using setting = await startSetting({ filled: true });
  const results = choice.only === 'store' ? [] : await tryService(setting, choice);
  if (choice.only === '' || choice.only === 'store') results.push(...(await tryStore(setting, choice)));
  return results;
}

export async function run(): Promise<void> {
  const { values: choice } = parseArgs({
    args: process.argv.slice(3),
    options: { only: { type: 'string', default: '' }, family: { type: 'string', default: '' } },
  });
  const results = choice.only === 'texts' ? [] : await tryRoutes(choice);
  const texts = choice.only === '' || choice.only === 'texts' ? await tryTexts(choice) : [];
  if (choice.family === '') {
    if (choice.only === '') await Bun.write(PAGE, renderPage(results, texts));
    if (choice.only === 'texts') await Bun.write(PAGE, withTexts(await Bun.file(PAGE).text(), texts));
  }
  const all = [...results, ...texts];
  const broken = all.filter(({ breaches }) => breaches.length > 0);
  console.log(`${all.length} cells, ${broken.length} break the rule`);
  if (broken.length > 0) process.exitCode = 1;
}
