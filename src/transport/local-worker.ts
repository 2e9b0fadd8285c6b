import { LOCAL_LINE, PROGRAMS_LINE } from '../core/run/lane.ts'
import type { KeptDefinition } from '../core/task/task.ts'
import type { Work } from './transport.ts'

/** What a run needs room in: the calls of a project to one target, or the slots of this machine. */
export interface Line {
  readonly id: string
  readonly projectId: string
  /** The target, or `local`; what the side lanes of runs that wait for room are named after. */
  readonly name: string
}

/** Room that a worker has set aside. */
export interface Room {
  /** Runs that can start at once. */
  readonly free: number
  /** Further ones that it will get to within a second, at the rate it is working now. */
  readonly ahead: number
}

/** The line of everything that is neither a call nor a program. All projects share it. */
export const LOCAL: Line = { id: LOCAL_LINE, projectId: '', name: LOCAL_LINE }

/** The line of programs, which have few places of their own. All projects share it. */
export const PROGRAMS: Line = { id: PROGRAMS_LINE, projectId: '', name: PROGRAMS_LINE }

/** A run, and the line in which room was set aside for it. */
export interface ReservedWork {
  readonly work: Work
  readonly line: Line
}

/**
 * A worker in the scheduler's own process. When it has room, a due run is fired straight into it, in the
 * same statement that fires it, and never waits in ready.
 */
export interface LocalWorker {
  readonly id: string
  /** Whether it runs what waits in a lane, and whether it may take that on ahead of a free place. */
  serves(lane: number): 'ahead' | 'free' | undefined
  /** The line that a run needs room in. */
  lineOf(definition: KeptDefinition): Line
  /** How many runs of a line it would take on now; none while earlier ones wait in ready. */
  room(line: Line): number
  /** Whether earlier runs of a line wait in ready, as far as it knows; false where it will not know soon. */
  isReadyBehind(line: Line): boolean
  /** How many runs of a line it gets through in a second, as things are. */
  pace(line: Line): number
  /** Whether runs wait in lanes that it serves, whatever their line. */
  readonly isBacklogged: boolean
  /** How many runs of a line it has taken out of ready lately. */
  claimed(line: Line): number
  /** Sets aside room for up to `wanted` runs of a line; none while earlier ones wait in ready. */
  reserve(line: Line, wanted: number): Room
  /** Gives back room that was set aside for runs of a line and not used. */
  release(line: Line, count: number): void
  /** Takes on runs for which room was set aside, each in that room: by now its definition may lead to another line. */
  begin(runs: readonly ReservedWork[]): void
  /** Runs of a line were put into one of its side lanes. */
  putAside(line: Line): void
  /** A statement that may have given this worker runs failed without an answer. */
  doubt(): void
}
