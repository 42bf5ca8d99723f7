// The use of a stream: as the upstream tells it, and what has come since. So a stream that is broken off costs what it brought.

import { parseJson } from '../core/json.ts';
import { countEvents } from './event-marks.ts';
import { hasDone, parseEvents } from './events.ts';
import { countTextBytes, estimateTokens, type Usage } from './usage.ts';

export class StreamMeter {
  private told: Usage | undefined;
  /** Since the upstream told its use. */
  private events = 0;
  private textBytes = 0;

  /** A block of OpenAI's events. */
  addBlock(block: Uint8Array): void {
    let textBytes = 0;
    for (const { data } of parseEvents(Buffer.from(block).toString())) textBytes += textBytesOf(data);
    // What follows the usage without a text is the end.
    if (this.told === undefined || textBytes > 0)
      this.add(textBytes, countEvents(block) - (hasDone(block) ? 1 : 0));
  }

  add(textBytes: number, events = 1): void {
    this.textBytes += textBytes;
    this.events += events;
  }

  tell(usage: Usage): void {
    this.told = usage;
    this.events = 0;
    this.textBytes = 0;
  }

  /** The larger of events and bytes of text / 4. */
  get tokens(): number {
    return Math.max(this.events, estimateTokens(this.textBytes));
  }

  /** Undefined where the upstream has told nothing yet. */
  get usage(): Usage | undefined {
    const { told, tokens } = this;
    if (told === undefined || tokens === 0) return told;
    return { ...told, completionTokens: told.completionTokens + tokens, estimated: true };
  }
}

function textBytesOf(data: string): number {
  try {
    return countTextBytes((parseJson(data) as { choices?: unknown }).choices);
  } catch {
    return 0;
  }
}
