/**
 * The project that the dashboard shows. A user with access to several projects chooses one; the choice is stored in this
 * browser.
 */
import { PROJECT_HEADER } from '../../src/core/access/project-header.ts'

const STORED_AS = 'belfry.project'

/** Returns null if no project was chosen: the server then uses the user's default project. */
export function chosenProject(): string | null {
  try {
    return localStorage.getItem(STORED_AS)
  } catch {
    return null // Without storage the dashboard shows the first project.
  }
}

/** Switches to another project by reloading the page, because everything on it belongs to the previous project. */
export function chooseProject(name: string | null): void {
  if (name === null) localStorage.removeItem(STORED_AS)
  else localStorage.setItem(STORED_AS, name)
  location.assign('/')
}

/** Requests about projects themselves or about the signed-in user name no project. */
const OF_NO_PROJECT = /^\/(auth|v1\/(projects|me))(\/|\?|$)/

export function projectHeader(path: string): Record<string, string> {
  const project = chosenProject()
  return project === null || OF_NO_PROJECT.test(path) ? {} : { [PROJECT_HEADER]: project }
}
