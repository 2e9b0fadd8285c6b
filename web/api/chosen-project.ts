/** The project that the dashboard shows. Whoever has access to several chooses; this browser remembers. */

const STORED_AS = 'belfry.project'
export const PROJECT_HEADER = 'belfry-project'

/** Null: the project of whoever is signed in. */
export function chosenProject(): string | null {
  try {
    return localStorage.getItem(STORED_AS)
  } catch {
    return null // A browser that stores nothing shows the first project.
  }
}

/** Shows another project. Everything on the page belongs to the one before, so the page begins anew. */
export function chooseProject(name: string | null): void {
  if (name === null) localStorage.removeItem(STORED_AS)
  else localStorage.setItem(STORED_AS, name)
  location.assign('/')
}

/** Requests about projects themselves, and about who one is, are made in none. */
const OF_NO_PROJECT = /^\/(auth|v1\/(projects|me))(\/|\?|$)/

export function projectHeader(path: string): Record<string, string> {
  const project = chosenProject()
  return project === null || OF_NO_PROJECT.test(path) ? {} : { [PROJECT_HEADER]: project }
}
