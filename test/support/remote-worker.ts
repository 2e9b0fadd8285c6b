/** A remote worker whose protocol requests the test sends itself, to any node. */
import { randomUUID } from 'node:crypto'
import { type Answer, request } from './request.ts'

export interface GivenRun {
  readonly runId: string
  readonly taskId: string
  readonly handler: string
  readonly payload: unknown
  readonly attempt: number
  readonly fence: number
  readonly scheduledFor: string
  readonly timeoutMs: number
  readonly action?: Record<string, unknown>
  readonly program?: {
    readonly files: readonly { id: string; name: string; sha256: string; size: number; url: string }[]
    readonly attemptToken: string
    readonly hostId: string
  } | null
  readonly call?: { now: number; signature: string | null; networks: readonly string[] | null } | null
}

export interface HandWorker {
  readonly id: string
  readonly token: string
  /** Sends a request of the protocol as this worker. */
  say(what: string, body?: unknown, url?: string): Promise<Answer>
  claim(
    limit: number,
    options?: { waitMs?: number; requestId?: string; url?: string },
  ): Promise<readonly GivenRun[]>
}

/** The longest that a claim may wait. A claim without another limit expects runs, however slow the machine is. */
const LONGEST_WAIT_MS = 30_000

/** Registers a worker; headers may name its project. */
export async function aWorker(
  url: string,
  offer: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<HandWorker> {
  const { status, body } = await request(url, 'POST', '/v1/worker/register', offer, headers)
  if (status !== 201) throw new Error(`not registered: ${JSON.stringify(body)}`)
  const { workerId: id, token } = body
  const say: HandWorker['say'] = (what, said, at = url) =>
    request(new URL(at).origin, 'POST', `/v1/worker/${what}`, said, { authorization: `Bearer ${token}` })
  return {
    id,
    token,
    say,
    claim: async (limit, { waitMs = LONGEST_WAIT_MS, requestId = randomUUID(), url: at = url } = {}) => {
      const answer = await say('claim', { requestId, limit, waitMs }, at)
      if (answer.status !== 200) throw new Error(`no claim: ${JSON.stringify(answer.body)}`)
      return answer.body.runs
    },
  }
}
