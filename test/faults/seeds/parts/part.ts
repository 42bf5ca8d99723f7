// A server or process that the service is or stands on, as faults strike it.

export type Part = {
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Lets it run again, if it does not. */
  start(): Promise<void>;
  /** It hangs, until the returned function is called. */
  pause(): () => void;
};
