// `bun run faults table`: the table of docs/operating/reliability.md. Cells that have figures already are not run again, unless
// they are named.
//
//   --service postgres    the cells of one service (test/faults/table/cells.ts has their names)
//   --fault killed        those of one fault
//   --again               all of them anew
//   --seconds S           how long each fault lasts (10)

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeTemplate } from '../seeds/parts/folder.ts';
import { runCell } from './cell.ts';
import { FAULTS, LEFT_OUT, namesOfCells, type Results, SERVICES, TAKEN } from './cells.ts';
import { RESULTS, readResults, renderMs, writePage } from './page.ts';

export async function runTable(words: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...words],
    options: {
      service: { type: 'string' },
      fault: { type: 'string' },
      again: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '10' },
    },
  });
  const { service, fault, again } = values;
  if (service !== undefined && !(service in SERVICES))
    throw new Error(`services: ${Object.keys(SERVICES).join(', ')}`);
  if (fault !== undefined && !(fault in FAULTS)) throw new Error(`faults: ${Object.keys(FAULTS).join(', ')}`);
  const isNamed = service !== undefined || fault !== undefined;
  const known = readResults();
  const wanted = namesOfCells()
    .filter((cell) => LEFT_OUT[cell.name] === undefined)
    .filter((cell) => cell.service === (service ?? cell.service) && cell.fault === (fault ?? cell.fault))
    .filter(({ name }) => {
      const result = known[name];
      return again || isNamed || result === undefined || 'missing' in result;
    });
  // In memory a sync costs nothing: what is measured is the fault.
  const folder = mkdtempSync(join('/dev/shm', 'atrium-table-'));
  const home = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  let lost = 0;
  try {
    const template = await makeTemplate(folder);
    for (const cell of wanted) {
      const beganAt = performance.now();
      const result = await runCell({ ...cell, seconds: Number(values.seconds) }, template).catch(
        (error: unknown) => void console.error(error),
      );
      if (result === undefined) {
        console.log(`${cell.name}: given up`);
        lost += 1;
        continue;
      }
      // Others may run other cells at the same time.
      const results: Results = { ...readResults(), [cell.name]: result };
      writeFileSync(RESULTS, `${JSON.stringify(results, undefined, 1)}\n`);
      writePage(results);
      const took = renderMs(performance.now() - beganAt);
      if ('missing' in result) console.log(`${cell.name}: ${result.missing}`);
      else {
        // What a server has lost by itself is no fault of the service.
        if (TAKEN[cell.name] === undefined) lost += result.lost.length;
        const well = result.wellMs === null ? 'not in time' : renderMs(result.wellMs);
        console.log(
          `${cell.name}: well after ${well}, lost: ${result.lost.join('; ') || 'nothing'} (${took})`,
        );
      }
    }
    return lost === 0 ? 0 : 1;
  } finally {
    if (home === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = home;
    rmSync(folder, { recursive: true, force: true });
  }
}
