/**
 * Lanes separate runs that are claimed differently: by queue, by the labels that a worker must have, by the handler that it
 * must provide, and by whether a run may be claimed a little before a slot is free. Three kinds of runs are claimed only when
 * they can start: those that must run at most once, because a worker that dies while it leases one uses up its only attempt;
 * those of handlers, because the worker is a process of the user; and those of programs, which take long and have few slots.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { SECRETS_LABEL } from '../secret/secrets-label.ts'
import type { KeptDefinition } from '../task/task.ts'
import { DEFAULT_PROJECT_ID } from '../values/default-project.ts'
import { GATE_FIELDS, gateOf, type LaneGate } from './lane-gate.ts'
import { labelsOfAction } from './own-labels.ts'

export const DEFAULT_QUEUE = 'default'

/** The properties of a lane. Its id is derived from the others, so it needs no lookup. */
export interface Lane {
  readonly id: number
  readonly projectId: string
  readonly queue: string
  readonly labels: readonly string[]
  /** The handler that a worker must provide; null for actions that Belfry's own workers perform. */
  readonly handler: string | null
  readonly isStrict: boolean
  /** The gate of the concurrency key that its runs share, if any. */
  readonly gate: LaneGate | null
}

/** The two lanes that always exist: those of the default queue without labels, with and without claiming ahead. */
export const DEFAULT_LANES = { open: 0, strict: 1 } as const

/** The fields of a task that determine its lane. */
export const LANE_FIELDS = ['action', 'queue', 'labels', 'secrets', 'onWorkerLoss', ...GATE_FIELDS] as const

export function laneOf(
  projectId: string,
  definition: Pick<KeptDefinition, (typeof LANE_FIELDS)[number]>,
): Lane {
  const { queue, onWorkerLoss } = definition
  const gate = gateOf(definition)
  const key = gate?.key ?? null
  const own = labelsOfAction(definition.action, definition.labels)
  const asked = [...definition.labels, ...own, ...(definition.secrets ? [SECRETS_LABEL] : [])]
  const labels = [...new Set(asked)].sort()
  const handler = definition.action.type === 'handler' ? (definition.action.name ?? null) : null
  const isStrict = onWorkerLoss !== 'retry' || handler !== null || definition.action.type === 'exec'
  const isDefault =
    projectId === DEFAULT_PROJECT_ID &&
    queue === DEFAULT_QUEUE &&
    labels.length === 0 &&
    key === null &&
    handler === null
  const parts = [projectId, queue, labels, key ?? isStrict]
  const id = isDefault
    ? DEFAULT_LANES[isStrict ? 'strict' : 'open']
    : hashOf(handler === null ? parts : [...parts, handler])
  return { id, projectId, queue, labels, handler, isStrict, gate }
}

/** The lines of actions that use a slot on the worker's own machine, and of programs. Every other line belongs to a target. */
export const LOCAL_LINE = 'local'
export const PROGRAMS_LINE = 'programs'

/** A lane for some of the runs of another lane. */
export interface SideLane {
  readonly id: number
  readonly base: number
  /** The line in which its runs wait for room; null if its runs are merely kept apart from those of the other lane. */
  readonly line: string | null
}

const sideLanes = new LRUCache<string, SideLane>({ max: 10_000 })

/** The side lane of `base` for runs that wait for room in a line. */
export const sideLaneOf = (base: number, line: string): SideLane => known('side', base, line, line)

/** The side lane of `base` for a task with very many waiting runs. */
export const crowdLaneOf = (base: number, taskId: string): SideLane => known('crowd', base, taskId, null)

function known(kind: 'side' | 'crowd', base: number, name: string, line: string | null): SideLane {
  const key = `${kind} ${base} ${name}`
  const lane = sideLanes.get(key) ?? { id: hashOf([kind, base, name]), base, line }
  sideLanes.set(key, lane)
  return lane
}

/** The lane of catch-up runs that would otherwise wait in the given lane. Stored ids depend on what is hashed here. */
export const catchUpLaneOf = (lane: number): number => hashOf(['late', lane])

const HASH_BYTES = 6

/** 48 bits: a safe integer, with a negligible probability of a collision between lanes. */
function hashOf(parts: readonly unknown[]): number {
  return createHash('sha256').update(JSON.stringify(parts)).digest().readUIntBE(0, HASH_BYTES)
}
