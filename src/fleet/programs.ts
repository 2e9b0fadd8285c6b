/** Whether programs can run on this machine, how, and which of its own commands. */
import { findCommands } from '../programs/allowed-commands.ts'
import {
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
    return { state, settings: null, allowNone, commands: [] }
  }
  const { sandbox, reason } = await detectSandbox({ directory: null, allowNone })
  await sandbox?.close()
  const state = stateOf(sandbox, reason, config)
  if (sandbox === null) return { state, settings: null, allowNone, commands: [] }
  const settings = programSettings(config, reachesPrivate)
  return {
    state,
    settings: { ...settings, graceMs: Math.min(settings.graceMs, LONGEST_GRACE_MS) },
    allowNone,
    commands: await findCommands(config.execCommands),
  }
}
