/** Determines whether and how programs can run on this machine, and which of its commands. */
import { findCommands } from '../programs/allowed-commands.ts'
import {
  besideCache,
  type ProgramConfig,
  type ProgramSettings,
  type ProgramsState,
  programSettings,
  stateOf,
} from '../programs/programs.ts'
import { detectSandbox } from '../sandbox/detect.ts'

/** Result of the search. */
export interface FoundPrograms {
  readonly state: ProgramsState
  /** How to run programs; null if they cannot run. */
  readonly settings: ProgramSettings | null
  /** Whether programs run without a sandbox if none works. */
  readonly allowNone: boolean
  /** Folder for temporary data of programs; null for the system's temporary folder. */
  readonly directory: string | null
  /** Commands of this machine that tasks can run. */
  readonly commands: readonly string[]
}

/** Belfry ends an attempt ten seconds after its timeout; the program must have ended by then. */
const LONGEST_GRACE_MS = 7_000

/**
 * Enables programs if a sandbox works, unless the configuration turns them off: a user who starts a worker wants it to run
 * programs.
 */
export async function findPrograms(config: ProgramConfig, reachesPrivate: boolean): Promise<FoundPrograms> {
  const allowNone = config.execWithoutSandbox
  if (config.exec === 'off') {
    const state = { canRun: false, isConcern: false, text: 'off (--exec off)' }
    return { state, settings: null, allowNone, directory: null, commands: [] }
  }
  const settings = programSettings(config, reachesPrivate)
  const wanted = await besideCache(settings.cache.folder)
  const { sandbox, reason, directory } = await detectSandbox({ directory: wanted, allowNone })
  await sandbox?.close()
  const state = stateOf(sandbox, reason, config)
  if (sandbox === null) return { state, settings: null, allowNone, directory, commands: [] }
  return {
    state,
    settings: { ...settings, graceMs: Math.min(settings.graceMs, LONGEST_GRACE_MS) },
    allowNone,
    directory,
    commands: await findCommands(config.execCommands),
  }
}
