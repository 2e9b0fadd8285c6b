/** Addresses that let their holder upload or download one file. */
import type { SignedClaims } from '../../core/access/signed-claims.ts'
import type { Queryable } from '../../store/database/database.ts'
import { isAttemptLive } from '../../store/files/files.ts'
import type { Context } from '../context.ts'

export const UPLOAD = 'file.upload'
export const DOWNLOAD = 'file.download'

/** An unfinished upload is kept for so long, and its address is good for so long. */
export const UPLOAD_HOURS = 24
const DOWNLOAD_MINUTES = 20

/** The attempt that a download is for: its address ends with it, and with the key of whoever downloads. */
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
  return pathOf(id, await addresses.sign(UPLOAD, { subject: id, projectId, keyId }, expiresAt))
}

/** Where an attempt finds a file: good for 20 minutes, and no longer than the attempt has its lease. */
export async function downloadPath(
  { addresses, clock }: Pick<Context, 'addresses' | 'clock'>,
  { id, projectId }: { readonly id: string; readonly projectId: string },
  { runId, fence, keyId }: DownloadingAttempt,
): Promise<string> {
  const expiresAt = clock.now() + DOWNLOAD_MINUTES * 60_000
  return pathOf(
    id,
    await addresses.sign(DOWNLOAD, { subject: id, projectId, runId, fence, keyId }, expiresAt),
  )
}

/** Whether the attempt is still in progress that a download was signed for. */
export async function isStillFor(db: Queryable, { runId, fence }: SignedClaims): Promise<boolean> {
  if (typeof runId !== 'string' || typeof fence !== 'number') return false
  const [live] = await db.run(isAttemptLive({ runId, fence }))
  return live !== undefined
}
