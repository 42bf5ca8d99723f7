import { readFileSync } from 'node:fs';

/** Compiles a WASM file, for any number of threads. Throws one line when it is not there. */
export async function loadModule(path: string): Promise<WebAssembly.Module> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new Error(`${path} cannot be read: the start and test commands compile it`, { cause: error });
  }
  return WebAssembly.compile(bytes);
}
