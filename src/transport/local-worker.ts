import { LOCAL_LINE, PROGRAMS_LINE } from '../core/run/lane.ts'
import type { KeptDefinition } from '../core/task/task.ts'
import type { Work } from './transport.ts'

/** What a run needs room in: the calls of a project to one target, or the slots of this machine. */
export interface Line {
  readonly id: string
  readonly projectId: string
  /** The target, or `local`; side lanes of runs that wait for room are named after it. */
  readonly name: string
}

/** Room that a worker has reserved. */
export interface Room {
  /** Runs that can start at once. */
  readonly free: number
  /** Further runs that it will start within a second, at its current rate. */
  readonly ahead: number
}

/** The line of all runs that are neither calls nor programs. All projects share it. */
export const LOCAL: Line = { id: LOCAL_LINE, projectId: '', name: LOCAL_LINE }

/** The line of programs, which have a few slots of their own. All projects share it. */
export const PROGRAMS: Line = { id: PROGRAMS_LINE, projectId: '', name: PROGRAMS_LINE }

/** A run and the line in which room was reserved for it. */
export interface ReservedWork {
  readonly work: Work
  readonly line: Line
}

/**
 * A worker in the scheduler's own process. If it has room, a due run starts directly in it, with the same statement that fires
 * it, and never waits in `ready`.
 */
export interface LocalWorker {
  readonly id: string
  /** Whether it performs the runs of a lane, and whether it may take them ahead of a free slot. */
  serves(lane: number): 'ahead' | 'free' | undefined
  /** Returns the line in which a run needs room. */
  lineOf(definition: KeptDefinition): Line
  /** Returns how many runs of a line it would take on now; 0 while earlier ones wait in `ready`. */
  room(line: Line): number
  /** Whether earlier runs of a line wait in `ready`, as far as it knows; false if it will not find out soon. */
  isReadyBehind(line: Line): boolean
  /** Returns how many runs of a line it completes per second at present. */
  pace(line: Line): number
  /** Whether runs wait in lanes that it serves, whatever their line. */
  readonly isBacklogged: boolean
  /** Returns how many runs of a line it has claimed from `ready`. */
  claimed(line: Line): number
  /** Reserves room for up to `wanted` runs of a line; none while earlier ones wait in `ready`. */
  reserve(line: Line, wanted: number): Room
  /** Releases reserved room of a line that was not used. */
  release(line: Line, count: number): void
  /** Takes on runs for which room was reserved, each in the line of that room: by now its definition may lead to another line. */
  begin(runs: readonly ReservedWork[]): void
  /** Reports that runs of a line were put into one of its side lanes. */
  putAside(line: Line): void
  /** Reports that a statement that may have given this worker runs failed without a reply. */
  doubt(): void
}
