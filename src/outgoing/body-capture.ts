import { isUtf8 } from 'node:buffer'

/** How much of a response body is kept. */
export const MAX_KEPT_BODY_BYTES = 16 * 1024

/**
 * How much more is read and discarded so that the connection can be reused. For an even longer body a new connection is
 * cheaper, so the socket is destroyed.
 */
export const MAX_DRAINED_BODY_BYTES = 1024 * 1024

/** Maximum number of chunks of a body; a million one-byte chunks cost more than their bytes. */
export const MAX_BODY_CHUNKS = 16 * 1024

/** A captured body: text if it is valid UTF-8, base64 otherwise. */
export interface CapturedBody {
  readonly body: string
  /** Present when the bytes are not text. */
  readonly bodyEncoding?: 'base64'
  /** Whether the body was longer than what is kept, or was cut off. */
  readonly truncated: boolean
}

/**
 * Keeps the start of a body in bounded memory. The first chunk, mostly the only one, is kept without a
 * copy; from the second on everything is copied into one buffer, so that a body sent a byte at a time
 * does not keep thousands of small buffers alive.
 */
export class BodyCapture {
  #kept: Buffer | undefined
  #keptBytes = 0
  #copied = false
  #seenBytes = 0
  #seenChunks = 0

  add(chunk: Buffer): void {
    this.#seenBytes += chunk.length
    this.#seenChunks++
    const wanted = chunk.subarray(0, MAX_KEPT_BODY_BYTES - this.#keptBytes)
    if (wanted.length === 0) return
    if (this.#kept === undefined) this.#kept = wanted
    else wanted.copy(this.#ownBuffer(this.#kept), this.#keptBytes)
    this.#keptBytes += wanted.length
  }

  /** Whether reading further would cost more than a new connection. */
  get isExhausted(): boolean {
    return (
      this.#seenBytes > MAX_KEPT_BODY_BYTES + MAX_DRAINED_BODY_BYTES || this.#seenChunks > MAX_BODY_CHUNKS
    )
  }

  finish({ complete }: { complete: boolean }): CapturedBody {
    const truncated = !complete || this.#seenBytes > this.#keptBytes
    if (this.#kept === undefined) return { body: '', truncated }
    const kept = this.#kept.subarray(0, this.#keptBytes)
    const text = truncated ? kept.subarray(0, wholeCharacters(kept)) : kept
    // PostgreSQL cannot store U+0000 in text or jsonb, so a body that contains it is kept as base64.
    if (isUtf8(text) && !text.includes(0)) return { body: text.toString('utf8'), truncated }
    return { body: kept.toString('base64'), bodyEncoding: 'base64', truncated }
  }

  #ownBuffer(first: Buffer): Buffer {
    if (this.#copied) return first
    const own = Buffer.allocUnsafeSlow(MAX_KEPT_BODY_BYTES)
    first.copy(own)
    this.#kept = own
    this.#copied = true
    return own
  }
}

/** Returns the length without a UTF-8 character that the cut left incomplete at the end. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) break
    if (byte < 0xc0) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return needed > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}
