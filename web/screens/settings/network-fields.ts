/** The private networks that a project may reach, as a form shows and reads them. */
import type { FieldProblem, Project, ProjectEdit } from '../../api/wire.ts'

export const REACHES = {
  all: 'All that the installation allows',
  none: 'None',
  list: 'Only these networks',
} as const

export interface NetworkFields {
  readonly reach: keyof typeof REACHES
  /** As they are typed; blank ones do not count. */
  readonly networks: readonly string[]
}

type Allowed = Project['network']['allowedPrivate']

/** The fields at the start. A list begins with a field to type into. */
export const networkFields = (allowed: Allowed): NetworkFields => ({
  reach: allowed === null ? 'all' : allowed.length === 0 ? 'none' : 'list',
  networks: allowed === null || allowed.length === 0 ? [''] : allowed,
})

/** The networks that were typed, in the order in which they are sent. */
export const entriesOf = (networks: readonly string[]): string[] =>
  networks.map((text) => text.trim()).filter((text) => text !== '')

/** What was changed, as the API takes it; null if nothing was, or as long as a list has no network. */
export function networkEdit(
  before: Allowed,
  { reach, networks }: NetworkFields,
): NonNullable<ProjectEdit['network']> | null {
  const entries = entriesOf(networks)
  if (reach === 'list' && entries.length === 0) return null
  const allowedPrivate = reach === 'all' ? null : reach === 'none' ? [] : entries
  return JSON.stringify(allowedPrivate) === JSON.stringify(before) ? null : { allowedPrivate }
}

const ENTRY = /^\/network\/allowedPrivate\/(\d+)$/

/** What the server said about entries, by their text: since they were sent, others may have been added or removed. */
export const problemsByText = (
  problems: readonly FieldProblem[],
  sent: readonly string[],
): ReadonlyMap<string, string> =>
  new Map(
    problems.flatMap(({ pointer, detail }) => {
      const text = sent[Number(ENTRY.exec(pointer)?.[1] ?? Number.NaN)]
      return text === undefined ? [] : [[text, detail] as const]
    }),
  )
