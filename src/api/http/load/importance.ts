/**
 * The importance of requests when the database is slow. The least important are rejected first: people who browse can retry, a
 * program that creates tasks may lose them, and a worker whose requests fail loses its runs.
 * - `browse`: lists, searches, statistics and streams;
 * - `read`: one object by its id;
 * - `change`: everything that stores something;
 * - `vital`: workers, probes, and what needs no database. Never rejected.
 */
import type { Access } from '../../../core/access/role.ts'

export const IMPORTANCES = ['browse', 'read', 'change', 'vital'] as const
export type Importance = (typeof IMPORTANCES)[number]

interface Route {
  readonly method: string
  readonly url: string
  readonly config?: { readonly importance?: Importance; readonly access?: Access } | undefined
}

/** Lists that are requested by POST. */
const ASKED_BY_POST = /^\/(retrieve_all_jobs|get_exec_history)$/
const WORKERS = /^\/v1\/worker\//
const ENDS_WITH_ID = /\/:\w+$/
/** A sign-in stores a session, even though some of its requests are GET. */
const SIGNING_IN = /^\/auth\//
/** Reads about one object whose path does not end with an id, or that are requested by POST. */
const ABOUT_ONE = /^\/(v1\/(me|server|schedules\/preview|tasks\/:id\/why)|(task|file)\/status)$/

export function importanceOf({ method, url, config }: Route): Importance {
  if (config?.importance !== undefined) return config.importance
  // Workers and attempts have tokens. What is public needs no database, except to sign in.
  const access = config?.access
  if (WORKERS.test(url) || access === 'token' || (access === 'public' && !SIGNING_IN.test(url)))
    return 'vital'
  if (ASKED_BY_POST.test(url)) return 'browse'
  if (ABOUT_ONE.test(url)) return 'read'
  if (SIGNING_IN.test(url)) return 'change'
  if (method !== 'GET' && method !== 'HEAD') return 'change'
  return ENDS_WITH_ID.test(url) ? 'read' : 'browse'
}
