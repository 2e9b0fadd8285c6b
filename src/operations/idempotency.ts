/**
 * One response per Idempotency-Key. The key and the response are stored in the transaction that does the work. Of several
 * requests with one key, on any nodes, one does the work; the others wait for its commit and then return its response, byte for
 * byte.
 */
import { createHash, type Hash } from 'node:crypto'
import { Refusal } from '../core/errors.ts'
import type { Queryable } from '../store/database/database.ts'
import { type RememberedAnswer, rememberAnswer, rememberedAnswer } from '../store/tasks/answers.ts'
import type { Context } from './context.ts'

/** A request that may be repeated: its key, and a fingerprint by which a repetition is recognised as the same request. */
export interface Repeatable {
  readonly key: string
  readonly fingerprint: Buffer
  /** Whether a replay returns the stored JSON text as it is: it may be too long to parse at once. */
  readonly isText?: boolean
}

/** The response to the first request with a key. */
export interface FirstAnswer {
  readonly status: number
  /** A string is JSON text already; a value too long to hold in memory at once is given as pieces of such text. */
  readonly body: unknown
}

/** The response to a request, whether it is the first one or a repetition. */
export interface Answer extends FirstAnswer {
  /** Whether this is a stored response; if so, nothing was done this time. */
  readonly isReplay: boolean
}

/** Builds a `Repeatable` for a body that is read in pieces, which are added in order. */
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

/** Another request with the same key was committed first; this one must be rolled back. */
export class AnsweredMeanwhile extends Error {}

/** Does the work, unless a request with this key has already done it: then returns the stored response. */
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
    // The error may be caused by what the first request with this key has stored.
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

/** Stores the response in the transaction that does the work. */
export async function remember(
  tx: Queryable,
  projectId: string,
  repeat: Repeatable,
  answer: FirstAnswer,
): Promise<void> {
  const [remembered] = await tx.run(rememberAnswer(projectId, toRemember(repeat, answer)))
  if (!remembered) throw new AnsweredMeanwhile()
}

/** Returns the response to the first request with this key; throws if that was a different request. */
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
