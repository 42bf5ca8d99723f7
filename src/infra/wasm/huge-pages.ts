import { dlopen, FFIType, ptr } from 'bun:ffi';

/** Of Linux, where its small pages have 4 KiB. */
export const HUGE_PAGE_BYTES = 2_097_152;

/** From linux/mman.h. */
const MADV_HUGEPAGE = 14;

const openLibrary = () =>
  dlopen('libc.so.6', {
    madvise: { args: [FFIType.u64, FFIType.u64, FFIType.i32], returns: FFIType.i32 },
  });

let library: ReturnType<typeof openLibrary> | undefined;

/**
 * Asks Linux for huge pages in the part of the buffer that is not used yet, as far as its administrator grants them to programs that
 * ask (`/sys/kernel/mm/transparent_hugepage/enabled`: `madvise`, the usual default, or `always`). Otherwise nothing changes.
 */
export function askForHugePages(buffer: ArrayBuffer, from: number): void {
  if (process.platform !== 'linux') return;
  try {
    library ??= openLibrary();
    const address = ptr(new Uint8Array(buffer));
    const first = Math.ceil((address + from) / HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES;
    const bytes = address + buffer.byteLength - first;
    if (bytes >= HUGE_PAGE_BYTES)
      library.symbols.madvise(first, bytes - (bytes % HUGE_PAGE_BYTES), MADV_HUGEPAGE);
  } catch {
    // The C library has another name here. Everything works without them, too.
  }
}
