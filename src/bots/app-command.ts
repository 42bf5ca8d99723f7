import type { ChatappEvent } from './event-schema.ts';

/** The command of newer events, which may have no message: its id and its type, where they are there. */
export function appCommandOf(event: ChatappEvent): { id: unknown; type: unknown } {
  const { appCommandMetadata } = event as { appCommandMetadata?: Record<string, unknown> | null };
  return { id: appCommandMetadata?.['appCommandId'], type: appCommandMetadata?.['appCommandType'] };
}
