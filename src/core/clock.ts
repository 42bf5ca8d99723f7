/** The wall clock, as a dependency so that tests can move it. */
export class Clock {
  now(): Date {
    return new Date();
  }
}

export const systemClock = new Clock();
