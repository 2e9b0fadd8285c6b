import type { RunEvent } from '../../core/run/run-event.ts'
import { printable } from '../../core/values/printable.ts'
import { outcomeWords } from '../../core/words/outcome.ts'
import { formatClock, formatDuration } from '../../core/words/time.ts'
import { follow, type ServerEvent } from '../client/event-stream.ts'
import { findTask } from '../client/find-task.ts'
import { readNumber, usage } from '../client/flag-values.ts'
import { instantAgo } from '../client/instant-flag.ts'
import { type ClientFlags, give, remark, serverFrom, write } from '../client/output.ts'
import { machineZone } from '../client/schedule-flags.ts'
import { queryOf } from '../client/server.ts'
import { stateWords } from '../client/state-words.ts'
import { onStderr } from '../terminal.ts'

/** Filters for events, the start of the stream, and the number of events to print. */
export interface EventFlags extends ClientFlags {
  readonly task?: string
  readonly state?: string
  readonly tag?: string
  readonly type?: string
  readonly queue?: string
  readonly owner?: string
  readonly since?: string
  readonly after?: string
  readonly count?: string
}

export async function followEvents(flags: EventFlags): Promise<void> {
  const server = serverFrom(flags)
  const count = flags.count === undefined ? Number.POSITIVE_INFINITY : readCount(flags.count)
  const taskId = flags.task === undefined ? undefined : (await findTask(server, flags.task)).id
  const { state, tag, type, queue, owner, since } = flags
  const after = since === undefined ? flags.after : instantAgo(since, server)
  const path = `/v1/events${queryOf({ after, state, taskId, tag, type, queue, owner })}`
  let told = 0
  for await (const event of follow(server, path, { onLost })) {
    if (!event.event.startsWith('belfry.run.')) {
      tellAside(event)
      continue
    }
    const parsed = JSON.parse(event.data) as RunEvent
    if (flags.json) write(`${JSON.stringify(parsed)}\n`)
    else give(parsed, flags, () => eventLine(parsed))
    told += 1
    if (told >= count) return
  }
}

function readCount(text: string): number {
  const count = readNumber(text)
  if (Number.isInteger(count) && Number(count) >= 1) return Number(count)
  throw usage(`--count is '${text}'; it must be a whole number of at least 1.`)
}

/** Reports a lost connection, and that no events are lost. */
export const onLost = (error: unknown, againMs: number): void => remarkLost(error, againMs, 'events')

/** Like `onLost`, for any kind of stream. */
export function remarkLost(error: unknown, againMs: number, what: string): void {
  const why = error instanceof Error && error.message !== '' ? `: ${error.message}` : ''
  remark(onStderr.dim(`Connection lost${why}\nReconnecting in ${againMs / 1_000} s; no ${what} are lost.\n`))
}

/** Prints notices of the server about the stream itself. */
export function tellAside({ event, data }: ServerEvent): void {
  if (event !== 'gap') return
  const { reason, from } = JSON.parse(data) as { reason: string; from: string }
  remark(`${onStderr.yellow('!')} Events before ${from} may be missing (${reason}).\n`)
}

function eventLine({ data: { run, task } }: RunEvent): string {
  const took =
    run.startedAt === null ? '' : ` in ${formatDuration(Date.parse(run.endedAt) - Date.parse(run.startedAt))}`
  const words = [
    formatClock(Date.parse(run.endedAt), machineZone()),
    `${stateWords(run.state, run.reason)}${took}`,
    printable(task.name ?? task.key ?? task.id),
    printable(outcomeWords(run as unknown as Parameters<typeof outcomeWords>[0])),
    run.id,
  ]
  return `${words.filter((word) => word !== '').join('  ')}\n`
}
