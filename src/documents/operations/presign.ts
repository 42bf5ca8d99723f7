import type { Clock } from '../../core/clock.ts';
import { newRandomId } from '../../core/ids.ts';
import type { Presigner, SignedForm } from '../../infra/s3/presign.ts';
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
  return (workspaceId: string, expiresInSeconds: number): SignedForm =>
    presigner.form({
      key: toTemporaryKey(workspaceId, newRandomId()),
      expiresInSeconds,
      bytesMax: uploadBytesMax,
      now: clock.now(),
    });
}
