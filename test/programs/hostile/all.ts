import { CALLS } from './calls.ts'
import { ENDS } from './ends.ts'
import type { Hostile } from './hostile.ts'
import { LOOKING } from './looking.ts'
import { RESOURCES } from './resources.ts'

export const ALL: readonly Hostile[] = [...LOOKING, ...CALLS, ...ENDS, ...RESOURCES]
