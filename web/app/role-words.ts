import type { Me } from '../api/me.ts'

/** Describes the roles of the user in a few words. */
export function roleWords({ installationRole, projects }: Me): string {
  if (installationRole !== null) return `${installationRole} of all projects`
  if (projects.length > MAX_NAMED) return `roles in ${projects.length} projects`
  return projects.map(({ name, role }) => `${role} of ${name}`).join(', ')
}

const MAX_NAMED = 3

/** The name under which a user is shown. */
export const nameOf = ({ name, email, kind }: Me): string =>
  (kind === 'person' ? (email ?? name) : name) ?? 'unknown'
