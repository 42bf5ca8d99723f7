// Where a follower of passages is, as signed text that is valid for one workspace, for one caller with the same rights.

import { gone, valueError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { openCursor, signCursor } from '../../http/signed-cursor.ts';
import type { Viewer } from '../policy.ts';

export type FeedPosition = {
  /** Everything up to this change was delivered; where `next` is given, everything before it. */
  sequence: number;
  /** Of the document of this change, the passage that follows. */
  next?: number | undefined;
  /** The workspace's last change when the follower began: it had nothing before. Absent until the first page is read. */
  origin?: number | undefined;
  /** Of its embeddings, where it has some. */
  modelId?: number | undefined;
};

export const FEED_START: FeedPosition = { sequence: 0 };

/** Who follows, and whether with embeddings. */
export type Follower = { viewer: Viewer; embeddings: boolean };

const VERSION = 2;

/** The cursor of a position: its version as a byte, and the position as JSON. */
export function renderFeedCursor(secret: Buffer, follower: Follower, position: FeedPosition): string {
  const body = Buffer.concat([Buffer.of(VERSION), Buffer.from(JSON.stringify(position))]);
  return signCursor(secret, scopeOf(follower), body);
}

/** Throws 422 for a text that `renderFeedCursor` has not made, 410 where it has made it for others. */
export function parseFeedCursor(secret: Buffer, follower: Follower, text: string): FeedPosition {
  const opened = openCursor(secret, scopeOf(follower), text);
  if (opened === undefined || opened.body[0] !== VERSION)
    throw valueError(['query', 'cursor'], 'the cursor is not one that this export has given', text);
  if (!opened.inScope)
    throw cursorExpired(
      'it was given to a caller with other rights, for another workspace, or for another `include`',
    );
  return parseJson(opened.body.toString('utf8', 1)) as FeedPosition;
}

/** A follower's copy can't be continued: it is to be emptied, and filled without a cursor. */
export const cursorExpired = (reason: string) =>
  gone(`The cursor is of no use any more: ${reason}. Begin without one`);

/** The scope includes the caller's rights, because a change of these changes no document. */
const scopeOf = ({ viewer: { workspaceId, userId, email, admin }, embeddings }: Follower): string =>
  [workspaceId, userId, email, admin, embeddings].join('\0');
