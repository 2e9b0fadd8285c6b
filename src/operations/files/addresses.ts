/** Signed addresses with which a client uploads or downloads one file. */
import type { SignedClaims } from '../../core/access/signed-claims.ts'
import type { Queryable } from '../../store/database/database.ts'
import { isAttemptLive } from '../../store/files/files.ts'
import type { Context } from '../context.ts'

export const UPLOAD = 'file.upload'
export const DOWNLOAD = 'file.download'

/** For how long an unfinished upload is kept and its address is valid. */
export const UPLOAD_HOURS = 24
const DOWNLOAD_MINUTES = 20

/**
 * The attempt that a download is for: the address is valid no longer than the attempt is in progress and the key of its worker
 * is valid.
 */
export interface DownloadingAttempt {
  readonly runId: string
  readonly fence: number
  readonly keyId: string | null
}

const pathOf = (id: string, token: string) => `/v1/files/${id}/content?token=${token}`

export async function uploadPath(
  { addresses, projectId, actor }: Pick<Context, 'addresses' | 'projectId' | 'actor'>,
  id: string,
  expiresAt: number,
): Promise<string> {
  const keyId = actor.kind === 'key' ? actor.id : null
  const personId = actor.kind === 'person' ? actor.id : null
  const isOpen = actor.kind === 'anonymous'
  const claims = { subject: id, projectId, keyId, personId, isOpen }
  return pathOf(id, await addresses.sign(UPLOAD, claims, expiresAt))
}

/** Returns the address of a file for an attempt: valid for 20 minutes, but no longer than the lease of the attempt. */
export async function downloadPath(
  { addresses, clock }: Pick<Context, 'addresses' | 'clock'>,
  { id, projectId }: { readonly id: string; readonly projectId: string },
  { runId, fence, keyId }: DownloadingAttempt,
): Promise<string> {
  const expiresAt = clock.now() + DOWNLOAD_MINUTES * 60_000
  return pathOf(
    id,
    await addresses.sign(
      DOWNLOAD,
      { subject: id, projectId, runId, fence, keyId, isOpen: keyId === null },
      expiresAt,
    ),
  )
}

/** Returns whether the attempt that a download was signed for is still in progress. */
export async function isStillFor(db: Queryable, { runId, fence }: SignedClaims): Promise<boolean> {
  if (typeof runId !== 'string' || typeof fence !== 'number') return false
  const [live] = await db.run(isAttemptLive({ runId, fence }))
  return live !== undefined
}
