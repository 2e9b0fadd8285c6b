import type { z } from 'zod'
import type { Task } from '../../api/resources/tasks/schemas.ts'
import type { TaskVersion, TaskVersionSummary } from '../../api/resources/versions/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatInstant } from '../../core/words/time.ts'
import { findTask, titleOf } from '../client/find-task.ts'
import { readNumber } from '../client/flag-values.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { readLimit, readPages, remarkMore } from '../client/pages.ts'
import { cut } from '../client/printed.ts'
import { machineZone } from '../client/schedule-flags.ts'
import { onStdout as c } from '../terminal.ts'

type Summary = z.output<typeof TaskVersionSummary>

const VALUE_WIDTH = 60

/** Lists the versions of a task, or shows one in full. */
export async function taskVersions(
  ref: string,
  version: string | undefined,
  flags: ClientFlags & { readonly limit: string },
): Promise<void> {
  const server = serverFrom(flags)
  const { id } = await findTask(server, ref)
  const path = `/v1/tasks/${id}/versions`
  if (version !== undefined) {
    const found = await server.get<TaskVersion>(`${path}/${encodeURIComponent(version)}`)
    return give(
      found,
      flags,
      () => `${versionText(found, server.now())}${JSON.stringify(found.definition, null, 2)}\n`,
    )
  }
  const listed = await readPages<Summary>(server, path, {}, readLimit(flags.limit))
  give(listed.items, flags, () => listed.items.map((one) => versionText(one, server.now())).join(''))
  if (!flags.json && flags.field === undefined) remarkMore(listed)
}

function versionText(
  { version, isCurrent, madeAt, madeBy, reason, rollbackOf, changes }: Summary,
  now: number,
) {
  const words = [
    formatInstant(Date.parse(madeAt), machineZone(), { now, precision: 'second' }),
    madeBy === null ? null : `from ${printable(madeBy)}`,
    rollbackOf === null ? null : `restored from version ${rollbackOf}`,
    isCurrent ? 'current' : null,
  ].filter((word) => word !== null)
  const lines = [
    `${c.bold(`version ${version}`)}  ${words.join(' · ')}`,
    ...(reason === null ? [] : [`  “${printable(reason)}”`]),
    ...changes.map(({ field, before, after }) => `  ${printable(field)}: ${shown(before)} → ${shown(after)}`),
  ]
  return `${lines.join('\n')}\n`
}

const shown = (value: unknown) =>
  cut(printable(typeof value === 'string' ? value : JSON.stringify(value)), VALUE_WIDTH)

/** Restores the definition of an earlier version. */
export async function rollbackTask(
  ref: string,
  version: string,
  flags: ClientFlags & { readonly reason?: string; readonly ifVersion?: string },
): Promise<void> {
  const server = serverFrom(flags)
  const { id } = await findTask(server, ref)
  const { reason, ifVersion } = flags
  const task = await server.post<Task>(
    `/v1/tasks/${id}/rollback`,
    { version: readNumber(version), ...(reason === undefined ? {} : { reason }) },
    ifVersion === undefined ? {} : { 'if-match': `"${ifVersion}"` },
  )
  give(
    task,
    flags,
    () =>
      `${c.green('✓')} task ${titleOf(task)} is now version ${task.version}, restored from version ${version}\n`,
  )
}
