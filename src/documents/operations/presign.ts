import type { Clock } from '../../core/clock.ts';
import { newRandomId } from '../../core/ids.ts';
import type { Presigner, SignedForm } from '../../infra/s3/presign.ts';
import { UNTOLD_TYPE } from '../content-type.ts';
import { toTemporaryKey } from '../object-keys.ts';

/** Step 1 of an upload: a form that stores one file under a fresh temporary key. Nothing is stored for it. */
export function createPresign({
  presigner,
  clock,
  uploadBytesMax,
}: {
  presigner: Presigner;
  clock: Clock;
  uploadBytesMax: number;
}) {
  return (
    workspaceId: string,
    { contentType = UNTOLD_TYPE, expiresInSeconds }: { contentType?: string; expiresInSeconds: number },
  ): SignedForm =>
    presigner.form({
      key: toTemporaryKey(workspaceId, newRandomId()),
      contentType,
      expiresInSeconds,
      bytesMax: uploadBytesMax,
      now: clock.now(),
    });
}
