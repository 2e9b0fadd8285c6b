/**
 * Lanes keep apart what is claimed differently: by queue, by what a worker must be able to do, by the handler
 * that it must offer, and by whether a run may be claimed a little ahead of a free place. A run that must happen
 * at most once is claimed only when it can start, because a worker that dies holding it has spent its only
 * attempt; and so is one of a handler, because its worker is somebody else's process, and one of a program, which takes long and
 * has few places.
 */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { SECRETS_LABEL } from '../secret/secrets-label.ts'
import type { KeptDefinition } from '../task/task.ts'
import { DEFAULT_PROJECT_ID } from '../values/default-project.ts'
import { GATE_FIELDS, gateOf, type LaneGate } from './lane-gate.ts'
import { labelsOfAction } from './own-labels.ts'

export const DEFAULT_QUEUE = 'default'

/** What a lane stands for. Its id follows from the rest, so nobody has to look it up. */
export interface Lane {
  readonly id: number
  readonly projectId: string
  readonly queue: string
  readonly labels: readonly string[]
  /** The handler that a worker must offer; null: what Belfry's own workers perform. */
  readonly handler: string | null
  readonly isStrict: boolean
  /** Its runs share a concurrency key. */
  readonly gate: LaneGate | null
}

/** The two lanes that exist from the start: the default queue, no labels, claimed ahead or not. */
export const DEFAULT_LANES = { open: 0, strict: 1 } as const

/** The fields of a task that decide about its lane. */
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

/** The lines of what needs a slot on the worker's own machine, and of programs. Every other line is a target's. */
export const LOCAL_LINE = 'local'
export const PROGRAMS_LINE = 'programs'

/** A lane beside another. */
export interface SideLane {
  readonly id: number
  readonly base: number
  /** The line in which its runs wait for room; null where they are only kept apart from those of the other lane. */
  readonly line: string | null
}

const sideLanes = new LRUCache<string, SideLane>({ max: 10_000 })

/** The lane beside `base` of what waits for room in a line. */
export const sideLaneOf = (base: number, line: string): SideLane => known('side', base, line, line)

/** The lane beside `base` of a task of which very many runs wait. */
export const crowdLaneOf = (base: number, taskId: string): SideLane => known('crowd', base, taskId, null)

function known(kind: 'side' | 'crowd', base: number, name: string, line: string | null): SideLane {
  const key = `${kind} ${base} ${name}`
  const lane = sideLanes.get(key) ?? { id: hashOf([kind, base, name]), base, line }
  sideLanes.set(key, lane)
  return lane
}

/** The lane of runs that make up for an outage, beside the lane they would have waited in. */
export const lateLaneOf = (lane: number): number => hashOf(['late', lane])

const HASH_BYTES = 6

/** 48 bits: a safe integer, and too many values for two lanes ever to meet. */
function hashOf(parts: readonly unknown[]): number {
  return createHash('sha256').update(JSON.stringify(parts)).digest().readUIntBE(0, HASH_BYTES)
}
