/**
 * Calls made by a remote worker: like those of a node, but with data that the API node provides for each run. A worker has no
 * signing secrets; it sends the signature it was given with exactly the request that was signed.
 */
import type { Action } from '../core/action/action.ts'
import { originOf } from '../core/action/call-target.ts'
import type { Outcome } from '../core/run/outcome.ts'
import type { Network } from '../core/values/network.ts'
import { HttpClient } from '../outgoing/http-client.ts'
import { confinementOf } from '../outgoing/project-networks.ts'
import type { Signer } from '../outgoing/signer.ts'
import type { ActionEnd } from '../sdk/attempt.ts'
import type { HandlerContext } from '../sdk/worker.ts'
import type { AttemptContext, Executor } from '../worker/executor.ts'
import { createHttpExecutor } from '../worker/executors/http.ts'
import { createSlackExecutor } from '../worker/executors/slack.ts'
import { sleep } from '../worker/executors/sleep.ts'
import { endOf } from './action-end.ts'
import type { GivenActionRun } from './given.ts'

/** Network permissions and identification of calls. */
export interface CallsOptions {
  /** Whether calls can reach loopback and private networks. */
  readonly allowPrivate: boolean
  /** Private networks that calls can reach anyway. */
  readonly allowedNetworks: readonly Network[]
  /** Value of the header `user-agent`. */
  readonly userAgent: string
}

/** The signed parts of a run's request. */
interface Signed {
  readonly origin: string | null
  readonly body: string
  readonly signature: string | null
}

/** Name that stands for a project without restrictions on networks. */
const UNCONFINED = '*'

export class Calls {
  readonly #client: HttpClient
  readonly #http: ReturnType<typeof createHttpExecutor>
  readonly #slack: Executor<Extract<Action, { type: 'slack' }>>
  readonly #signed = new Map<string, Signed>()

  constructor({ allowPrivate, allowedNetworks, userAgent }: CallsOptions) {
    // A worker serves one project, whose networks come with each run. The list of networks serves as the project name here.
    const projectNetworks = {
      of: (name: string) => (name === UNCONFINED ? undefined : confinementOf(name.split(' '))),
    }
    const signer: Signer = {
      sign: ({ origin }, { id, body }) => {
        const signed = this.#signed.get(id)
        return signed?.origin === origin && signed.body === body ? (signed.signature ?? undefined) : undefined
      },
    }
    this.#client = new HttpClient({ allowPrivate, allowedNetworks, projectNetworks })
    this.#http = createHttpExecutor({ client: this.#client, userAgent, signer })
    this.#slack = createSlackExecutor({ client: this.#client, userAgent })
  }

  async perform(run: GivenActionRun, handler: HandlerContext): Promise<ActionEnd> {
    const { runId, action, call } = run
    const origin = 'url' in action ? originOf(action.url) : null
    const body = 'body' in action && typeof action.body === 'string' ? action.body : ''
    this.#signed.set(runId, { origin, body, signature: call?.signature ?? null })
    try {
      return endOf(await this.#execute(action, contextOf(run, handler)))
    } finally {
      this.#signed.delete(runId)
    }
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  #execute(action: Action, context: AttemptContext): Promise<Outcome> {
    switch (action.type) {
      case 'ping':
      case 'webhook':
      case 'http':
        return this.#http.execute(action, context)
      case 'slack':
        return this.#slack.execute(action, context)
      case 'sleep':
        return sleep(action, context)
      default:
        return Promise.resolve(notOffered(action.type))
    }
  }
}

function contextOf(run: GivenActionRun, { signal, log }: HandlerContext): AttemptContext {
  const { runId, taskId, scheduledFor, attempt, fence, traceparent, tracingId, call } = run
  const now = call?.now ?? Date.now()
  return {
    ...{ runId, taskId, attempt, fence, traceparent, tracingId, signal },
    scheduledFor: Date.parse(scheduledFor),
    projectId: call?.networks ? call.networks.join(' ') : UNCONFINED,
    secrets: call?.hasSecrets ? [] : null,
    log: {
      write: () => {},
      say: (level, message) => log(message, level),
      redactor: null,
      redactWith: () => {},
      room: () => null,
    },
    // The signature covers this instant. The clock does not advance, because a call does not take long.
    now: () => now,
    isLost: false,
  }
}

const notOffered = (type: string): Outcome => ({
  kind: 'failed',
  retryable: true,
  error: { code: 'executor_failed', message: `This worker does not perform the action ${type}.` },
})
