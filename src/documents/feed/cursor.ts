// Where a follower of passages is, as signed text that is valid for one workspace, for one caller with the same rights.

import { gone, valueError } from '../../core/errors.ts';
import { openCursor, signCursor } from '../../http/signed-cursor.ts';
import type { Viewer } from '../policy.ts';

export type FeedPosition = {
  /** Everything up to this change was delivered; where `next` is given, everything before it. */
  sequence: number;
  /** Of the document of this change, the passage that follows. */
  next: number | undefined;
  /** The workspace's last change when the follower began: it had nothing before. Undefined until the first page is read. */
  origin: number | undefined;
  /** Of its embeddings, where it has some. */
  modelId: number | undefined;
};

export const FEED_START: FeedPosition = {
  sequence: 0,
  next: undefined,
  origin: undefined,
  modelId: undefined,
};

/** Who follows, and whether with embeddings. */
export type Follower = { viewer: Viewer; embeddings: boolean };

const VERSION = 1;
const BYTES = 25;
const NONE = -1;

/** Layout of the body: version, sequence and origin as int64, next passage and model as int32. */
export function renderFeedCursor(
  secret: Buffer,
  follower: Follower,
  { sequence, next, origin, modelId }: FeedPosition,
): string {
  const body = Buffer.alloc(BYTES);
  body[0] = VERSION;
  body.writeBigInt64BE(BigInt(sequence), 1);
  body.writeBigInt64BE(BigInt(origin ?? NONE), 9);
  body.writeInt32BE(next ?? NONE, 17);
  body.writeInt32BE(modelId ?? NONE, 21);
  return signCursor(secret, scopeOf(follower), body);
}

/** Throws 422 for a text that `renderFeedCursor` has not made, 410 where it has made it for others. */
export function parseFeedCursor(secret: Buffer, follower: Follower, text: string): FeedPosition {
  const opened = openCursor(secret, scopeOf(follower), text);
  if (opened === undefined || opened.body[0] !== VERSION || opened.body.length !== BYTES)
    throw valueError(['query', 'cursor'], 'the cursor is not one that this export has given', text);
  const { body, inScope } = opened;
  if (!inScope)
    throw beginAnew(
      'it was given to a caller with other rights, for another workspace, or for another `include`',
    );
  const given = (value: number) => (value === NONE ? undefined : value);
  return {
    sequence: Number(body.readBigInt64BE(1)),
    origin: given(Number(body.readBigInt64BE(9))),
    next: given(body.readInt32BE(17)),
    modelId: given(body.readInt32BE(21)),
  };
}

/** A follower's copy can't be continued: it is to be emptied, and filled without a cursor. */
export const beginAnew = (reason: string) =>
  gone(`The cursor is of no use any more: ${reason}. Begin without one`);

/** The scope includes the caller's rights, because a change of these changes no document. */
const scopeOf = ({ viewer: { workspaceId, userId, email, admin }, embeddings }: Follower): string =>
  [workspaceId, userId, email, admin, embeddings].join('\0');
