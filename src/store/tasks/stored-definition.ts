/**
 * How a definition is stored: without what stands for itself. Most tasks differ from the defaults in an
 * action and a schedule only, and each run of a one-off reads its definition once, so what is left out is
 * saved when the task is made, when it runs and whenever it is listed.
 */

import type { TaskDefinition } from '../../core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'

/**
 * What a member means that is not stored. These values are part of the stored form and never change, also
 * when a later release gives new tasks other defaults: they would change tasks that exist.
 */
export const UNSTORED = {
  startAt: null,
  endAt: null,
  maxRuns: null,
  seed: null,
  jitter: null,
  overlap: 'skip',
  misfire: { policy: 'run_once', window: '1d', cap: 100, rate: 10 },
  retry: { limit: 3, initial: '1s', max: '30s' },
  timeout: '20m',
  queueTimeout: null,
  onWorkerLoss: 'retry',
  queue: 'default',
  priority: 0,
  labels: [],
  concurrencyKey: null,
  concurrencyLimit: 1,
  metadata: {},
  projectId: DEFAULT_PROJECT_ID,
  tracingId: null,
  traceparent: null,
} as const satisfies Partial<TaskDefinition>

/** What is stored of a definition, as JSON gives it back. */
export type StoredDefinition = Partial<TaskDefinition>

/** The text to store. */
export function storedForm(definition: TaskDefinition): string {
  const stored: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(definition)) {
    if (!isUnstored(name, value)) stored[name] = value
  }
  return JSON.stringify(stored)
}

/** What is longer than this, in bytes, is told in brief too. Most definitions have some hundred. */
export const LARGE_BYTES = 4_096

/** Members of actions that say where they go; all others may be long. */
const BRIEF_MEMBERS = ['type', 'url', 'to', 'name', 'duration'] as const

/** A stored form without what is long, and which version it is of; null where the form itself is short. */
export function briefForm(stored: string, version: number): string | null {
  const bytes = stored.length <= LARGE_BYTES / 4 ? 0 : Buffer.byteLength(stored)
  if (bytes <= LARGE_BYTES) return null
  const { metadata: _, action, ...rest } = JSON.parse(stored)
  const members = BRIEF_MEMBERS.flatMap((name) => (name in action ? [[name, action[name]]] : []))
  return JSON.stringify({ ...rest, action: Object.fromEntries(members), version, bytes })
}

/** The whole definition, from what was stored of it. Written out, because spreading costs ten times as much. */
export function wholeDefinition(stored: StoredDefinition): TaskDefinition {
  return {
    action: stored.action as TaskDefinition['action'],
    schedule: stored.schedule as TaskDefinition['schedule'],
    startAt: stored.startAt ?? UNSTORED.startAt,
    endAt: stored.endAt ?? UNSTORED.endAt,
    maxRuns: stored.maxRuns ?? UNSTORED.maxRuns,
    anchorAt: stored.anchorAt as string,
    seed: stored.seed ?? UNSTORED.seed,
    jitter: stored.jitter ?? UNSTORED.jitter,
    overlap: stored.overlap ?? UNSTORED.overlap,
    misfire: stored.misfire === undefined ? UNSTORED.misfire : { ...UNSTORED.misfire, ...stored.misfire },
    retry: stored.retry ?? UNSTORED.retry,
    timeout: stored.timeout ?? UNSTORED.timeout,
    queueTimeout: stored.queueTimeout ?? UNSTORED.queueTimeout,
    onWorkerLoss: stored.onWorkerLoss ?? UNSTORED.onWorkerLoss,
    queue: stored.queue ?? UNSTORED.queue,
    priority: stored.priority ?? UNSTORED.priority,
    labels: stored.labels ?? UNSTORED.labels,
    concurrencyKey: stored.concurrencyKey ?? UNSTORED.concurrencyKey,
    concurrencyLimit: stored.concurrencyLimit ?? UNSTORED.concurrencyLimit,
    metadata: stored.metadata ?? UNSTORED.metadata,
    projectId: stored.projectId ?? UNSTORED.projectId,
    tracingId: stored.tracingId ?? UNSTORED.tracingId,
    traceparent: stored.traceparent ?? UNSTORED.traceparent,
  }
}

/** Rows with their definitions made whole. */
export const withDefinitions = <Row extends { readonly definition: TaskDefinition }>(
  rows: readonly Row[],
): Row[] => rows.map((row) => ({ ...row, definition: wholeDefinition(row.definition) }))

function isUnstored(name: string, value: unknown): boolean {
  if (!(name in UNSTORED)) return false
  const meant: unknown = UNSTORED[name as keyof typeof UNSTORED]
  return (
    value === meant ||
    (typeof meant === 'object' && meant !== null && JSON.stringify(value) === JSON.stringify(meant))
  )
}
