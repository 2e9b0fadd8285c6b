import type { Preview } from '../../api/resources/schedules/schemas.ts'
import type { Task } from '../../api/resources/tasks/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { titleOf } from '../client/find-task.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { facts } from '../client/printed.ts'
import { missingNote, missingWorker, programWorkers } from '../client/program-workers.ts'
import { hasAssumedZone, zoneNote } from '../client/schedule-flags.ts'
import type { Server } from '../client/server.ts'
import { type Flags, readTaskFlags } from '../client/task-flags.ts'
import { namingFlags } from '../client/task-refusal.ts'
import { nextPairs } from '../client/task-words.ts'
import { onStdout as c } from '../terminal.ts'

const NOTES_SHOWN = 3

export async function createTask(
  name: string | undefined,
  flags: Flags & ClientFlags & { readonly paused?: boolean },
): Promise<void> {
  const server = serverFrom(flags)
  const input = {
    ...(await readTaskFlags(flags)),
    ...(name === undefined ? {} : { name: name || null }),
    ...(flags.paused ? { paused: true } : {}),
  }
  const { id } = await namingFlags(flags, 'create', () => server.post<Task>('/v1/tasks', input))
  const task = await server.get<Task>(`/v1/tasks/${id}?include=next`)
  const isForPeople = !flags.json && flags.field === undefined
  const notes = isForPeople ? await clockChanges(server, task) : []
  const missing = isForPeople ? await missingFor(server, task) : null
  give(task, flags, () => createdText(task, { server, notes, missing, isZoneAssumed: hasAssumedZone(flags) }))
}

/** Returns a sentence about what workers lack to run the program; null if nothing is missing. */
async function missingFor(server: Server, { action, labels }: Task): Promise<string | null> {
  if (action.type !== 'exec') return null
  return missingWorker(await programWorkers(server), { command: action.command ?? null, labels })
}

/** Returns notes about wall-clock times of the schedule that a clock change skips or repeats. */
async function clockChanges(server: Server, task: Task): Promise<string[]> {
  if (task.timezone === null) return []
  const { notes } = await server.post<Preview>('/v1/schedules/preview', { schedule: task.schedule, count: 1 })
  return notes.slice(0, NOTES_SHOWN).map(({ note }) => note)
}

interface CreatedOptions {
  readonly server: Server
  readonly notes: readonly string[]
  readonly missing: string | null
  readonly isZoneAssumed: boolean
}

function createdText(task: Task, { server, notes, missing, isZoneAssumed }: CreatedOptions): string {
  const words = printable(task.scheduleInWords ?? '')
  const zone = zoneNote(task.timezone, isZoneAssumed)
  const pairs: [string, string][] = [
    ['id', task.id],
    ...nextPairs(task, server.now()),
    ...notes.map((note): [string, string] => ['note', printable(note)]),
    ['run', `belfry task run ${task.id} --wait`],
    ['page', `${server.url}/tasks/${task.id}`],
  ]
  return `${c.green('✓')} task ${titleOf(task)}  ${words}${zone}\n${facts(pairs)}${missingNote(missing)}`
}
