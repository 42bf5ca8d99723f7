// One request on its way through the boundary, and everything that is known about it so far.

import type { TObject, TSchema } from '@sinclair/typebox';
import { type Author, type RequestOrigin, toAuthor } from '../core/author.ts';
import type { Principal } from '../core/principal.ts';
import type { TraceContext } from '../core/trace-context.ts';
import type { Door } from './admission/admission.ts';
import type { Asker, Permit } from './admission/fair-semaphore.ts';
import { type Input, NO_BYTES, type Operation } from './operation.ts';

export type Connections = { requestIP(request: Request): { address: string } | null };

/**
 * One request on its way, as its handler sees it. A class, because there is one for every request: all share its functions.
 */
export class Exchange implements Input<TObject, TObject, TSchema> {
  readonly request: Request;
  readonly startedAtMs = performance.now();
  requestId: string;
  path: Record<string, unknown> = NOTHING;
  query: Record<string, unknown> = NOTHING;
  body: unknown;
  bytes = NO_BYTES;
  caller: Principal | undefined;
  called: string | undefined;
  /** Undefined without tracing. */
  trace: TraceContext | undefined;
  /** The permit that it has to give back: undefined before it is admitted, and after a stream has taken the permit over. */
  permit: Permit | undefined;
  private readonly operation: Operation;
  private readonly address: string | null;
  private readonly door: Door | undefined;

  constructor(request: Request, { operation, door }: Entrance, connections: Connections | null | undefined) {
    this.request = request;
    this.operation = operation;
    this.door = door;
    this.requestId = requestIdOf(request);
    const keepsAddress = operation.audits !== undefined || operation.notesAddress;
    this.address = keepsAddress ? addressOf(request, connections) : null;
  }

  get principal(): Principal {
    if (this.caller === undefined) throw new Error(`${this.operation.id} asks for no credential`);
    return this.caller;
  }

  get origin(): RequestOrigin {
    return { address: this.address, requestId: this.requestId };
  }

  get author(): Author {
    return toAuthor(this.principal, this.origin);
  }

  /** A promise only where the request has to wait. Throws and rejects as `Door.enter`. */
  enter(): Promise<void> | undefined {
    const entering = this.door?.enter(this.caller ?? NOBODY);
    if (entering instanceof Promise)
      return entering.then((permit) => {
        this.permit = permit;
      });
    this.permit = entering;
    return undefined;
  }

  leave(): void {
    if (this.permit !== undefined) this.door?.release(this.permit);
    this.permit = undefined;
  }

  keepPermit(): () => void {
    let { permit } = this;
    this.permit = undefined;
    const release = (): void => {
      if (permit !== undefined) this.door?.release(permit);
      permit = undefined;
    };
    // A caller that has disconnected may never read the answer, so that nothing else ends it.
    const { signal } = this.request;
    if (signal.aborted) release();
    else signal.addEventListener('abort', release, { once: true });
    return release;
  }
}

type Entrance = { operation: Operation; door: Door | undefined };

const NOBODY: Asker = { workspaceId: '', keyId: '' };

const NOTHING: Record<string, unknown> = {};

/** The IP address at the other end of the connection: that of the last proxy, where there is one. */
const addressOf = (request: Request, connections: Connections | null | undefined): string | null =>
  connections?.requestIP(request)?.address.replace(/^::ffff:(?=[\d.]+$)/, '') ?? null;

export const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/** The caller's own request id where it is valid for a log line, else a new one. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  return given !== null && REQUEST_ID.test(given) ? given : Bun.randomUUIDv7();
}
