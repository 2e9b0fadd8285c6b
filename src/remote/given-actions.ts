/**
 * What remote workers are given in addition to the run to perform an action: only what this one attempt needs. For a program
 * these are URLs of its files, valid for 20 minutes and for this attempt, and the token of the attempt; for a call its
 * signature, because the signing secrets of a project never leave the nodes.
 */
import { randomUUID } from 'node:crypto'
import type { Action, ExecAction } from '../core/action/action.ts'
import { fileIdsOf } from '../core/action/action-files.ts'
import { originOf } from '../core/action/call-target.ts'
import type { Outcome } from '../core/run/outcome.ts'
import { durationMs } from '../core/task/task.ts'
import { networkText } from '../core/values/network.ts'
import { downloadPath } from '../operations/files/addresses.ts'
import type { ProjectNetworks } from '../outgoing/project-networks.ts'
import type { Signer } from '../outgoing/signer.ts'
import type { Clock } from '../runtime/clock.ts'
import type { AddressSigner } from '../secrets/address-signer.ts'
import { issueAttemptToken } from '../secrets/attempt-token.ts'
import type { Queryable } from '../store/database/database.ts'
import { findFilesByIds } from '../store/files/files.ts'
import type { GivenAction, GivenCall, GivenProgram, RemoteWorker } from '../transport/remote-workers.ts'
import type { Work } from '../transport/transport.ts'

export interface GivenActionsOptions {
  readonly db: Queryable
  readonly clock: Clock
  readonly addresses: AddressSigner
  readonly signer: Signer
  readonly projectNetworks: ProjectNetworks
}

/** How long after its timeout an attempt can be reported on: the worker stops it and reports, or Belfry ends it. */
const REPORTING_MS = 15_000

type Failure = Outcome & { readonly kind: 'failed' }

export class GivenActions {
  readonly #options: GivenActionsOptions

  constructor(options: GivenActionsOptions) {
    this.#options = options
  }

  /** Returns an action as a worker performs it, or the failure of the attempt if it cannot be performed. */
  async of(
    worker: RemoteWorker,
    work: Work,
    action: Action,
  ): Promise<GivenAction | { readonly failure: Failure }> {
    switch (action.type) {
      case 'exec':
        return this.#program(worker, work, action)
      case 'ping':
      case 'webhook':
      case 'http':
        return this.#call(work, action, 'body' in action ? action.body : undefined)
      default:
        return { action, program: null, call: await this.#callOf(work, null) }
    }
  }

  async #program(worker: RemoteWorker, work: Work, action: ExecAction) {
    const { db, addresses, clock } = this.#options
    const { projectId, timeout, tracingId } = work.definition
    const ids = fileIdsOf(action)
    const found = ids.length === 0 ? [] : await db.run(findFilesByIds(projectId, ids))
    const files: GivenProgram['files'][number][] = []
    for (const id of ids) {
      const file = found.find((one) => one.id === id)
      if (!file || file.readyAt === null || file.sha256 === null || file.size === null)
        return { failure: fileMissing(id) }
      const { name, sha256, size, kind, architecture } = file
      files.push({
        id,
        name,
        sha256,
        size,
        kind,
        architecture,
        url: await downloadPath({ addresses, clock }, file, { ...work, keyId: worker.keyId }),
      })
    }
    const { taskId, runId, attempt, fence } = work
    const hostId = randomUUID()
    const attemptToken = await issueAttemptToken(
      addresses,
      {
        projectId,
        taskId,
        runId,
        attempt,
        fence,
        workerId: worker.id,
        hostId,
        podName: worker.name,
        tracingId,
      },
      clock.now() + durationMs(timeout) + REPORTING_MS,
    )
    return { action, program: { files, attemptToken, hostId }, call: null }
  }

  /** Gives the body as text, so that the bytes sent are those that were signed. */
  async #call(work: Work, action: Action, body: unknown): Promise<GivenAction | { failure: Failure }> {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const origin = 'url' in action ? originOf(action.url) : null
    try {
      const call = await this.#callOf(work, origin === null ? null : { origin, body: text ?? '' })
      const given = text === undefined ? action : ({ ...action, body: text } as Action)
      return { action: given, program: null, call }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return { failure: { kind: 'failed', retryable: true, error: { code: 'executor_failed', message } } }
    }
  }

  async #callOf(
    { runId, definition: { projectId, secrets } }: Work,
    signed: { readonly origin: string; readonly body: string } | null,
  ): Promise<GivenCall> {
    const { clock, signer, projectNetworks } = this.#options
    const confinement = await projectNetworks.of(projectId)
    const now = clock.now()
    const timestamp = String(Math.floor(now / 1_000))
    const signature =
      signed && signer.sign({ projectId, origin: signed.origin }, { id: runId, timestamp, body: signed.body })
    const networks = confinement?.networks.map(networkText) ?? null
    return { now, signature: signature ?? null, networks, hasSecrets: secrets !== null }
  }
}

const fileMissing = (id: string): Failure => ({
  kind: 'failed',
  retryable: false,
  error: { code: 'file_missing', message: `The file ${id} does not exist.` },
})
