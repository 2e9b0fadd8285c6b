/** Presents lines of logs in responses. */
import { formatLogPosition, type LogLine } from '../../../core/run/log-line.ts'
import { utc } from '../../../core/values/utc.ts'
import type { LogLine as ShownLine } from './log-schemas.ts'

export const presentLine = ({ position, at, ...line }: LogLine): ShownLine => ({
  id: formatLogPosition(position),
  attempt: line.attempt,
  at: utc(at),
  stream: line.stream,
  level: line.level,
  text: line.text,
  isPartial: line.isPartial,
  omitted: line.omitted,
})
