/**
 * Uploads a program and creates a task for it. Repeating the command leaves an unchanged file and task as they are, so that
 * scripts can call it repeatedly.
 */
import { basename } from 'node:path'
import type { File } from '../../api/resources/files/schemas.ts'
import type { Task } from '../../api/resources/tasks/schemas.ts'
import type { ExecAction } from '../../core/action/action.ts'
import { printable } from '../../core/values/printable.ts'
import { contentWords } from '../client/file-words.ts'
import { titleOf } from '../client/find-task.ts'
import { usage } from '../client/flag-values.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { facts } from '../client/printed.ts'
import { RefusedError } from '../client/problem.ts'
import { refuseNoProgram } from '../client/program-file.ts'
import { missingNote, missingWorker, programWorkers } from '../client/program-workers.ts'
import { naming } from '../client/refusal.ts'
import { hasAssumedZone, SCHEDULE_KINDS, zoneNote } from '../client/schedule-flags.ts'
import type { Server } from '../client/server.ts'
import { type Flags, flagAt, readTaskFlags } from '../client/task-flags.ts'
import { nextPairs } from '../client/task-words.ts'
import { measured, uploadedFile, uploadLocalFile } from '../client/upload-file.ts'
import { onStdout as c } from '../terminal.ts'

type Change = 'created' | 'changed' | 'unchanged'

export async function runOnSchedule(path: string, flags: Flags & ClientFlags): Promise<void> {
  if (!SCHEDULE_KINDS.some((kind) => flags[kind] !== undefined))
    throw usage(
      'No schedule was given.',
      "Such as: --cron '0 3 * * *', --every 30m, --daily 03:00 or --at INSTANT",
    )
  await refuseNoProgram(path)
  const server = serverFrom(flags)
  const name = String(flags['name'] ?? basename(path))
  const key = String(flags['key'] ?? name)
  const before = await taskWithKey(server, key)
  const { file, sentBytes } = await provide(server, path, before)
  const { key: _, ...input } = await readTaskFlags(flags, { action: { type: 'exec', file: file.id } })
  const body = { action: { type: 'exec', file: file.id }, ...input, name }
  const { data } = await naming(
    (pointer) => flagAt(pointer, flags),
    'belfry run-on-schedule --help',
    () => server.ask<Task>('PUT', `/v1/tasks/by-key/${encodeURIComponent(key)}`, { body }),
  )
  const change = before === null ? 'created' : before.version === data.version ? 'unchanged' : 'changed'
  const task = await server.get<Task>(`/v1/tasks/${data.id}?include=next`)
  const missing = missingWorker(await programWorkers(server), { command: null, labels: task.labels })
  give({ task, file, sentBytes, change, missing }, flags, () =>
    madeText({ task, file, sentBytes, change, missing, server, isZoneAssumed: hasAssumedZone(flags) }),
  )
}

async function taskWithKey(server: Server, key: string): Promise<Task | null> {
  try {
    return await server.get<Task>(`/v1/tasks/by-key/${encodeURIComponent(key)}`)
  } catch (error) {
    if (error instanceof RefusedError && error.problem.status === 404) return null
    throw error
  }
}

/** Returns the task's current file if it has the same content, else another file with that content, else uploads a new one. */
async function provide(server: Server, path: string, before: Task | null) {
  const content = await measured(path)
  const current = (before?.action as Partial<ExecAction> | undefined)?.file
  const there = await uploadedFile(server, { name: basename(path), ...content }, current)
  return there === undefined ? uploadLocalFile(server, path) : { file: there, sentBytes: 0 }
}

interface Made {
  readonly task: Task
  readonly file: File
  readonly sentBytes: number
  readonly change: Change
  /** Sentence about what workers lack to run the task; null if nothing is missing. */
  readonly missing: string | null
  readonly server: Server
  readonly isZoneAssumed: boolean
}

function madeText({ task, file, sentBytes, change, missing, server, isZoneAssumed }: Made): string {
  const zone = zoneNote(task.timezone, isZoneAssumed)
  const pairs: [string, string][] = [
    ['id', task.id],
    ['file', `${file.id}  ${contentWords(file)}${sentBytes === 0 ? ', uploaded before' : ''}`],
    ...nextPairs(task, server.now()),
    ['run', `belfry task run ${task.id} --wait`],
    ['page', `${server.url}/tasks/${task.id}`],
  ]
  return `${c.green('✓')} task ${titleOf(task)} ${change}  ${printable(task.scheduleInWords ?? '')}${zone}\n${facts(pairs)}${missingNote(missing)}`
}
