/** What assembly/vectors.ts exports. */
export type Kernels = {
  memory: WebAssembly.Memory;
  base(): number;
  scan(
    slab: number,
    capacity: number,
    count: number,
    stride: number,
    query: number,
    allowed: number,
    heap: number,
  ): void;
  scanTwo: ScanSeveral;
  scanFour: ScanSeveral;
};

export type ScanSeveral = (
  slab: number,
  capacity: number,
  count: number,
  stride: number,
  queries: number,
  heaps: number,
  apart: number,
) => void;
