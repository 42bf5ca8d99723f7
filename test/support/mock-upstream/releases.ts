// Answers that a test holds back until it releases their key.

const gates = new Map<string, ReturnType<typeof Promise.withResolvers<void>>>();

function gateOf(key: string): ReturnType<typeof Promise.withResolvers<void>> {
  const gate = gates.get(key) ?? Promise.withResolvers<void>();
  gates.set(key, gate);
  return gate;
}

/** Resolves once the key is released; at once where it has been. */
export const released = (key: string): Promise<void> => gateOf(key).promise;

export const release = (key: string): void => gateOf(key).resolve();
