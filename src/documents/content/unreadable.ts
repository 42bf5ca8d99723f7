/** Why a file has no text that could be kept; another attempt would find the same. */
export class Unreadable extends Error {
  readonly state: 'unsupported' | 'failed';

  constructor(state: 'unsupported' | 'failed', reason: string) {
    super(reason);
    this.name = 'Unreadable';
    this.state = state;
  }
}

export const isBroken = (reason: string) => new Unreadable('failed', reason);
