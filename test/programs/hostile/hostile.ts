/** A program that means harm: what it attempts, and what must have become of it. */
import type { Outcome, ProgramWorker, Wanted } from '../support/grounds.ts'

export interface Hostile {
  /** What it attempts, as the name of a test. */
  readonly attempt: string
  readonly program: Wanted | ((host: Host) => Wanted)
  /** Takes seconds, or much of the machine; tried by `npm run suite programs`. */
  readonly isLong?: true
  /** That it did not succeed. Whether everything else is unharmed is checked after each. */
  readonly expect: (outcome: Outcome, host: Host) => void | Promise<void>
}

/** What there is to harm. */
export interface Host {
  readonly worker: ProgramWorker
  /** Whether programs have cgroups. */
  readonly hasCgroups: boolean
  /** Files that nobody may read or change, and a folder with one. */
  readonly canary: string
  /** A server on the loopback interface. */
  readonly port: number
  /** A socket in a folder that everybody may enter. */
  readonly socketPath: string
  /** Who has connected to either. */
  readonly connections: readonly string[]
}

export const lines = (output: Buffer): string[] => output.toString().split('\n').filter(Boolean)
