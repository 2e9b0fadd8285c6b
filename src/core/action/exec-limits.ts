/** Limits of programs: what a task asks for, beside the most that the operator of a worker allows. Pure. */
import { bytesOf, bytesText } from '../values/bytes.ts'
import type { ExecLimits } from './action.ts'

/** What a task can choose, as numbers. */
export interface LimitValues {
  readonly memoryBytes: number
  readonly cpus: number
  readonly processes: number
  readonly fileBytes: number
}

/** A limit of a task that is above the maximum, both as they are written. */
export interface ExceededLimit {
  readonly name: keyof ExecLimits
  readonly asked: string
  readonly most: string
  /** The setting of the operator. */
  readonly setting: string
}

/** What a task asks for; what it leaves out is undefined. */
export const askedLimits = ({
  memory,
  cpus,
  processes,
  fileSize,
}: ExecLimits = {}): {
  readonly [Name in keyof LimitValues]: number | undefined
} => ({
  memoryBytes: memory === undefined ? undefined : bytesOf(memory),
  cpus,
  processes,
  fileBytes: fileSize === undefined ? undefined : bytesOf(fileSize),
})

const FIELDS = [
  { name: 'memory', value: 'memoryBytes', text: bytesText, setting: '--exec-max-memory-bytes' },
  { name: 'cpus', value: 'cpus', text: String, setting: '--exec-max-cpus' },
  { name: 'processes', value: 'processes', text: String, setting: '--exec-max-processes' },
  { name: 'fileSize', value: 'fileBytes', text: bytesText, setting: '--exec-max-file-bytes' },
] as const

/** Those that are above. */
export function exceededLimits(limits: ExecLimits | undefined, maxima: LimitValues): ExceededLimit[] {
  const asked = askedLimits(limits)
  return FIELDS.flatMap(({ name, value, text, setting }) =>
    (asked[value] ?? 0) > maxima[value]
      ? [{ name, asked: String(limits?.[name]), most: text(maxima[value]), setting }]
      : [],
  )
}
