import type { WriteCheck } from '../../operations/server/write-check.ts'
import { retryAfter } from './errors.ts'

/** The lifecycle phase of a node. A node is ready only while it serves. */
export type Phase = 'starting' | 'serving' | 'stopping'

/** The answer of `/readyz`. */
export interface ReadinessAnswer {
  readonly status: 200 | 503
  readonly headers: Readonly<Record<string, string>>
  readonly body: {
    readonly status: 'ready' | 'not_ready'
    readonly code: string | null
    readonly reasons: string[]
  }
}

/**
 * Whether this node can do its work: it has started, is not stopping, and its database accepts writes. A stopping node reports
 * that it is not ready before its port closes, so that a load balancer redirects its requests in time.
 */
export class Readiness {
  readonly #writeCheck: Pick<WriteCheck, 'trouble'>
  #phase: Phase = 'starting'

  constructor(writeCheck: Pick<WriteCheck, 'trouble'>) {
    this.#writeCheck = writeCheck
  }

  enter(phase: Phase): void {
    this.#phase = phase
  }

  async answer(): Promise<ReadinessAnswer> {
    if (this.#phase !== 'serving') return notReady(this.#phase, `The node is ${this.#phase}.`, '1')
    const trouble = await this.#writeCheck.trouble()
    if (trouble !== null) return notReady(trouble.code, trouble.detail, retryAfter(trouble.code))
    return { status: 200, headers: {}, body: { status: 'ready', code: null, reasons: [] } }
  }
}

const notReady = (code: string, reason: string, retryAfterSeconds: string): ReadinessAnswer => ({
  status: 503,
  headers: { 'retry-after': retryAfterSeconds },
  body: { status: 'not_ready', code, reasons: [reason] },
})
