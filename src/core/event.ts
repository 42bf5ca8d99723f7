// What the service reports of itself, as every area sees it.

/** Something that happened, to be counted and billed. */
export type ServiceEvent = {
  workspaceId: string;
  /** A type of the interface's table ("Events"). */
  type: string;
  /** The person's e-mail, lower-cased; `''` where there is none. */
  subject: string;
  /** With `value`, as the table says. */
  data: { value: number | string; [field: string]: unknown };
};

/**
 * Records an event: at once, without waiting and without ever throwing. When it returns, the event outlives the
 * process; so an operation records before it answers.
 */
export type RecordEvent = (event: ServiceEvent) => void;
