/** Whether programs can run on this machine, how, and which of its own commands. */
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

/** What was found. */
export interface FoundPrograms {
  readonly state: ProgramsState
  /** How to run them; null where they cannot run. */
  readonly settings: ProgramSettings | null
  /** Whether they run without a sandbox where there is none. */
  readonly allowNone: boolean
  /** Where runners keep what programs need while they run; null for the system's folder for temporary files. */
  readonly directory: string | null
  /** Those of this machine that tasks can run. */
  readonly commands: readonly string[]
}

/** Belfry ends an attempt ten seconds after its timeout: by then nothing of it is left. */
const LONGEST_GRACE_MS = 7_000

/** Whoever starts a worker wants it to run programs, if a sandbox works. */
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
