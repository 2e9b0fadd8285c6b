import type { Project } from '../../api/resources/projects/schemas.ts'
import { usage } from '../client/flag-values.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { facts, printable } from '../client/printed.ts'
import { namingAll } from '../client/refusal.ts'
import { onStdout as c } from '../terminal.ts'

/** Limits as they are typed; an empty value takes one away. */
export interface LimitFlags extends ClientFlags {
  readonly minPeriod?: string
  readonly maxAhead?: string
}

export async function showProject(flags: ClientFlags): Promise<void> {
  const project = await serverFrom(flags).get<Project>('/v1/projects/default')
  give(project, flags, () => projectText(project))
}

export async function limitProject(flags: LimitFlags): Promise<void> {
  const { minPeriod, maxAhead } = flags
  if (minPeriod === undefined && maxAhead === undefined)
    throw usage('No limit was given.', 'Add --min-period or --max-ahead, such as --min-period 1m.')
  const server = serverFrom(flags)
  const limits = { minPeriod: orNone(minPeriod), maxAhead: orNone(maxAhead) }
  const { data: project } = await namingAll('belfry project limit --help', () =>
    server.ask<Project>('PATCH', '/v1/projects/default', { body: { limits } }),
  )
  give(project, flags, () => `${c.green('✓')} ${projectText(project)}`)
}

const orNone = (text: string | undefined) => (text === '' ? null : text)

function projectText({ name, limits: { minPeriod, maxAhead } }: Project): string {
  return `project ${printable(name)}\n${facts([
    ['min period', `at least ${minPeriod} between two occurrences of a task`],
    ['max ahead', maxAhead === null ? 'no limit' : `next occurrence at most ${maxAhead} ahead`],
  ])}`
}
