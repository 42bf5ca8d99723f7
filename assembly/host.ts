// What the thread gives to the kernels that run in it (src/infra/wasm/worker.ts).

/** Returns soon, or throws when the work is no longer wanted; may run something short meanwhile. */
export declare function checkpoint(): void;
