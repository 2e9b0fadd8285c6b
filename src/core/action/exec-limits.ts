/** Limits of programs: those that a task requests, and the maxima that the operator of a worker allows. Pure. */
import { bytesOf, bytesText } from '../values/bytes.ts'
import type { ExecLimits } from './action.ts'

/** The limits that a task can set, as numbers. */
export interface LimitValues {
  readonly memoryBytes: number
  readonly cpus: number
  readonly processes: number
  readonly fileBytes: number
}

/** A limit of a task that exceeds the maximum, both as text. */
export interface ExceededLimit {
  readonly name: keyof ExecLimits
  readonly asked: string
  readonly most: string
  /** The operator's setting that gives the maximum. */
  readonly setting: string
}

/** The limits that a task requests; undefined for those that it does not set. */
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

/** Returns the limits that exceed the maxima. */
export function exceededLimits(limits: ExecLimits | undefined, maxima: LimitValues): ExceededLimit[] {
  const asked = askedLimits(limits)
  return FIELDS.flatMap(({ name, value, text, setting }) =>
    (asked[value] ?? 0) > maxima[value]
      ? [{ name, asked: String(limits?.[name]), most: text(maxima[value]), setting }]
      : [],
  )
}
