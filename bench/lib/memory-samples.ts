// The memory of the service over time, read each second.

import { type FamilyMemory, familyMemory } from './process.ts';

export type MemorySample = FamilyMemory & { at: number };

const EVERY_MS = 1000;

/** Reads until it is disposed of. */
export function sampleMemory(pid: number): Disposable & { samples: MemorySample[] } {
  const samples: MemorySample[] = [];
  const read = (): void => {
    const memory = familyMemory(pid);
    if (memory.service > 0) samples.push({ at: Date.now(), ...memory });
  };
  read();
  const timer = setInterval(read, EVERY_MS);
  return { samples, [Symbol.dispose]: () => clearInterval(timer) };
}
