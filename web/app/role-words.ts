import type { Me } from '../api/me.ts'

/** What somebody may do, in a few words. */
export function roleWords({ installationRole, projects }: Me): string {
  if (installationRole !== null) return `${installationRole} of all projects`
  if (projects.length > MAX_NAMED) return `roles in ${projects.length} projects`
  return projects.map(({ name, role }) => `${role} of ${name}`).join(', ')
}

const MAX_NAMED = 3

/** By what name somebody is known. */
export const nameOf = ({ name, email, kind }: Me): string =>
  (kind === 'person' ? (email ?? name) : name) ?? 'unknown'
