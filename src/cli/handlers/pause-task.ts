import type { Task } from '../../api/resources/tasks/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { findTask, titleOf } from '../client/find-task.ts'
import { readNumber } from '../client/flag-values.ts'
import { instantFromNow } from '../client/instant-flag.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { namingAll } from '../client/refusal.ts'
import { machineZone } from '../client/schedule-flags.ts'
import { instantWords } from '../client/task-words.ts'
import { onStdout as c } from '../terminal.ts'

/** What can be said about a pause; `--until` may be so long from now, or in words on the clock of the task. */
export interface PauseFlags extends ClientFlags {
  readonly until?: string
  readonly reason?: string
}

export async function pauseTask(ref: string, flags: PauseFlags): Promise<void> {
  const server = serverFrom(flags)
  const { id, timezone } = await findTask(server, ref)
  const { reason, until: text } = flags
  const until =
    text === undefined
      ? undefined
      : instantFromNow({ flag: '--until', text, timezone: timezone ?? machineZone() }, server)
  const input = { reason, until }
  const task = await namingAll('belfry task pause --help', () =>
    server.post<Task>(`/v1/tasks/${id}/pause`, input),
  )
  give(task, flags, () => {
    const end =
      task.resumeAt === null ? '' : ` until ${instantWords(task.resumeAt, task.timezone, server.now())}`
    const why = task.pauseReason === null ? '' : ` (“${printable(task.pauseReason)}”)`
    return `${c.green('✓')} task ${titleOf(task)} paused${end}${why}; its occurrences are recorded as skipped\n`
  })
}

export async function resumeTask(ref: string, flags: PauseFlags): Promise<void> {
  const server = serverFrom(flags)
  const { id } = await findTask(server, ref)
  const { reason } = flags
  const task = await namingAll('belfry task resume --help', () =>
    server.post<Task>(`/v1/tasks/${id}/resume`, reason === undefined ? undefined : { reason }),
  )
  give(task, flags, () => `${c.green('✓')} task ${titleOf(task)} resumed${nextOf(task, server.now())}\n`)
}

/** Flags of a request to skip occurrences. */
export interface SkipFlags extends ClientFlags {
  readonly count?: string
  readonly reason?: string
  readonly undo?: boolean
}

export async function skipNext(ref: string, flags: SkipFlags): Promise<void> {
  const server = serverFrom(flags)
  const { id } = await findTask(server, ref)
  const path = `/v1/tasks/${id}/skip-next`
  if (flags.undo) {
    const { data: task } = await server.ask<Task>('DELETE', path)
    return give(
      task,
      flags,
      () =>
        `${c.green('✓')} task ${titleOf(task)} does not skip any occurrence${nextOf(task, server.now())}\n`,
    )
  }
  const { reason } = flags
  const count = flags.count === undefined ? undefined : readNumber(flags.count)
  const task = await namingAll('belfry task skip-next --help', () =>
    server.post<Task>(path, { count, reason }),
  )
  give(task, flags, () => {
    const words =
      task.skipNext === null
        ? 'does not skip any occurrence'
        : `skips its occurrences up to ${instantWords(task.skipNext.until, task.timezone, server.now())}`
    return `${c.green('✓')} task ${titleOf(task)} ${words}; to undo: belfry task skip-next ${task.id} --undo\n`
  })
}

const nextOf = ({ nextFireAt, timezone }: Task, now: number) =>
  nextFireAt === null ? '' : `; next ${instantWords(nextFireAt, timezone, now)}`
