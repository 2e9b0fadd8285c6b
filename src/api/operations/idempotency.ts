import { createHash } from 'node:crypto'
import { Refusal } from '../../core/errors.ts'
import { type RememberedAnswer, rememberedAnswer } from '../../store/tasks.ts'
import type { Context } from './context.ts'

/** One request that may be repeated: its key, and what tells whether a repetition is the same request. */
export interface Repeatable {
  readonly key: string
  readonly fingerprint: Buffer
}

export interface Answer {
  readonly status: number
  readonly body: unknown
  /** The answer was given before; nothing was done this time. */
  readonly isReplay: boolean
}

export function repeatable(key: string, request: { method: string; url: string; body: unknown }): Repeatable {
  const fingerprint = createHash('sha256')
    .update(`${request.method} ${request.url}\n${JSON.stringify(request.body ?? null)}`)
    .digest()
  return { key, fingerprint }
}

export function remember(
  repeat: Repeatable | null,
  status: number,
  answer: unknown,
): RememberedAnswer | null {
  return repeat === null ? null : { ...repeat, status, answer }
}

/** What was answered to the first request with this key; refused when that was another request. */
export async function replay(
  { db, projectId }: Context,
  { key, fingerprint }: Repeatable,
): Promise<Answer | undefined> {
  const [known] = await db.run(rememberedAnswer(projectId, key))
  if (!known) return undefined
  if (!known.fingerprint.equals(fingerprint)) {
    throw new Refusal(
      'idempotency_key_reused',
      'This Idempotency-Key was used for a request with another address or body. Use a new key.',
    )
  }
  return { status: known.status, body: known.answer, isReplay: true }
}
