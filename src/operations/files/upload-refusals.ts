/** Why an upload is refused: its sentences, which tell the sender what would be right. */
import { invalidInput, Refusal } from '../../core/errors.ts'

/** The upload must continue at another byte than it does. */
export const elsewhere = (receivedBytes: number) =>
  new Refusal(
    'upload_conflict',
    `The upload must continue at byte ${receivedBytes}. If another upload of this file is in progress, let it finish.`,
    { extra: { receivedBytes } },
  )

export const tooLarge = (most: number) =>
  new Refusal('payload_too_large', `The file must not be larger than ${most} bytes (--max-file-bytes).`)

export const empty = () =>
  invalidInput([{ pointer: '', detail: 'must not be empty: a file has at least one byte' }])

export const otherLength = (announced: number, sent: number | 'more') =>
  invalidInput([
    { pointer: 'content-range', detail: `announces ${announced} bytes, but the body has ${sent}` },
  ])

export const otherSize = (size: number | 'more', announced: number) =>
  new Refusal(
    'content_mismatch',
    `The file was announced with ${announced} bytes, but the upload has ${size}.`,
  )

export const otherHash = (sha256: string, announced: string) =>
  new Refusal(
    'content_mismatch',
    `The file was announced with the SHA-256 ${announced}, but has ${sha256}. Upload it again from the beginning.`,
  )
