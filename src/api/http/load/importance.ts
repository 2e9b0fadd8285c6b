/**
 * What can wait when the database is slow. The least important requests go first: people who look around can look again,
 * a program that creates tasks may lose them, and a worker that is not heard loses its runs.
 *
 * - `browse`: lists, searches, statistics and streams;
 * - `read`: one thing by its id;
 * - `change`: everything that stores something;
 * - `vital`: workers, probes, and what needs no database. It is never refused.
 */
export const IMPORTANCES = ['browse', 'read', 'change', 'vital'] as const
export type Importance = (typeof IMPORTANCES)[number]

interface Route {
  readonly method: string
  readonly url: string
  readonly config?: { readonly importance?: Importance } | undefined
}

/** Addresses outside /v1 that use the database. */
const OUTSIDE = /^\/(auth|tasks|submit_job|retrieve_all_jobs|delete_job|get_exec_history)(\/|$)/
/** Lists that are asked for with a body. */
const ASKED_BY_POST = /^\/(retrieve_all_jobs|get_exec_history)$/
const WORKERS = /^\/v1\/worker\//
const ENDS_WITH_ID = /\/:\w+$/
/** A sign-in stores a session, also where a browser is led through it by addresses. */
const SIGNING_IN = /^\/auth\//
/** Questions about one thing, under an address below it. */
const ABOUT_ONE = /^\/v1\/(me|server|schedules\/preview|tasks\/:id\/why)$/

export function importanceOf({ method, url, config }: Route): Importance {
  if (config?.importance !== undefined) return config.importance
  if (WORKERS.test(url) || !(url.startsWith('/v1/') || OUTSIDE.test(url))) return 'vital'
  if (ASKED_BY_POST.test(url)) return 'browse'
  if (ABOUT_ONE.test(url)) return 'read'
  if (SIGNING_IN.test(url)) return 'change'
  if (method !== 'GET' && method !== 'HEAD') return 'change'
  return ENDS_WITH_ID.test(url) ? 'read' : 'browse'
}
