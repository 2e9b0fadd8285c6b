/**
 * One answer for one Idempotency-Key. The key and the answer are stored in the transaction that does the
 * work, so that of several requests with one key, on any nodes, one does it; the others wait for its
 * commit and then get its answer, byte for byte.
 */
import { createHash, type Hash } from 'node:crypto'
import { Refusal } from '../core/errors.ts'
import type { Queryable } from '../store/database/database.ts'
import { type RememberedAnswer, rememberAnswer, rememberedAnswer } from '../store/tasks/tasks.ts'
import type { Context } from './context.ts'

/** One request that may be repeated: its key, and what tells whether a repetition is the same request. */
export interface Repeatable {
  readonly key: string
  readonly fingerprint: Buffer
  /** The answer is given again as the JSON text that it was: it may be too long to be read at once. */
  readonly isText?: boolean
}

/** What the first request with a key was answered. */
export interface FirstAnswer {
  readonly status: number
  /** JSON text already when it is a string; pieces of such text where it is too long to be held at once. */
  readonly body: unknown
}

/** What a request is answered, for the first time or again. */
export interface Answer extends FirstAnswer {
  /** The answer was given before; nothing was done this time. */
  readonly isReplay: boolean
}

/** The same for a body that is read in pieces, which are told one after another. */
export class PiecewiseRepeatable {
  readonly #key: string
  readonly #hash: Hash

  constructor(key: string, request: { method: string; url: string }) {
    this.#key = key
    this.#hash = createHash('sha256').update(`${request.method} ${request.url}\n`)
  }

  add(piece: string): void {
    this.#hash.update(piece)
  }

  end(): Repeatable {
    return { key: this.#key, fingerprint: this.#hash.digest(), isText: true }
  }
}

export function repeatable(key: string, request: { method: string; url: string; body: unknown }): Repeatable {
  const fingerprint = createHash('sha256')
    .update(`${request.method} ${request.url}\n${JSON.stringify(request.body ?? null)}`)
    .digest()
  return { key, fingerprint }
}

/** Another request with the same key was committed first; this one must leave nothing behind. */
export class AnsweredMeanwhile extends Error {}

/** Does the work, unless it was done under this key before: then the answer is the one given then. */
export async function answerOnce(
  context: Context,
  repeat: Repeatable | null,
  work: () => Promise<FirstAnswer>,
): Promise<Answer> {
  if (repeat === null) return { ...(await work()), isReplay: false }
  const known = await replay(context, repeat)
  if (known) return known
  try {
    return { ...(await work()), isReplay: false }
  } catch (error) {
    // Whatever stood in the way may be what the first request with this key has left there.
    const answered = await replay(context, repeat)
    if (answered) return answered
    throw error
  }
}

export function toRemember(
  { key, fingerprint }: Repeatable,
  { status, body }: FirstAnswer,
): RememberedAnswer {
  return { key, fingerprint, status, answer: typeof body === 'string' ? body : JSON.stringify(body) }
}

/** Stores the answer in the transaction that makes it true. */
export async function remember(
  tx: Queryable,
  projectId: string,
  repeat: Repeatable,
  answer: FirstAnswer,
): Promise<void> {
  const [remembered] = await tx.run(rememberAnswer(projectId, toRemember(repeat, answer)))
  if (!remembered) throw new AnsweredMeanwhile()
}

/** What was answered to the first request with this key; refused when that was another request. */
async function replay(
  { db, projectId }: Context,
  { key, fingerprint, isText = false }: Repeatable,
): Promise<Answer | undefined> {
  const [known] = await db.run(rememberedAnswer(projectId, key))
  if (!known) return undefined
  if (known.fingerprint.equals(fingerprint))
    return { status: known.status, body: isText ? known.answer : JSON.parse(known.answer), isReplay: true }
  throw new Refusal(
    'idempotency_key_reused',
    'This Idempotency-Key was used for a request with a different path or body. Use a new key.',
  )
}
