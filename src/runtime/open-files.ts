/**
 * Divides the number of files that this process may open. Every call and every connection to the database or the API is a
 * socket, so on a node with more calls than files all of them would fail.
 */

/** Files other than sockets: the program itself, logs, event queues, DNS queries. */
const OWN_FILES = 100
/** Minimum number of files for connections to the API. */
const API_FILES = 256
/** Maximum number of idle connections to keep. */
const IDLE_FILES = 1_024
/** If there are too few files, this part of the rest is for calls, and the remainder for idle connections. */
const CALLS_PART = 0.8

/** The number of files that a node should be able to open. */
export interface FileNeeds {
  readonly maxCalls: number
  readonly apiConnections: number
  readonly databaseConnections: number
}

/** The number of files that the node may open. */
export interface FileShare {
  readonly maxCalls: number
  readonly apiConnections: number
  readonly idleConnections: number
}

/**
 * Calls and idle connections take precedence over connections to the API, of which more are allowed than anyone expects. If
 * there are too few files even for the calls, the API gets a minimum and the rest is divided. Without a limit, all needs are
 * met.
 */
export function shareFiles(limit: number | undefined, needs: FileNeeds): FileShare {
  const { maxCalls, apiConnections } = needs
  if (limit === undefined || limit >= neededFiles(needs)) {
    const left = limit === undefined ? apiConnections : limit - neededFiles(needs) + API_FILES
    return { maxCalls, apiConnections: Math.min(apiConnections, left), idleConnections: IDLE_FILES }
  }
  const reserved = OWN_FILES + API_FILES + needs.databaseConnections
  const rest = Math.max(limit - reserved, Math.floor(limit / 4))
  const calls = Math.max(1, Math.min(maxCalls, Math.floor(rest * CALLS_PART)))
  return {
    maxCalls: calls,
    apiConnections: Math.min(apiConnections, API_FILES, Math.floor(limit / 4)),
    idleConnections: Math.max(1, Math.min(IDLE_FILES, rest - calls)),
  }
}

/** The smallest limit at which only the number of connections to the API is reduced. */
export const neededFiles = ({ maxCalls, databaseConnections }: FileNeeds): number =>
  maxCalls + IDLE_FILES + OWN_FILES + API_FILES + databaseConnections

/** A warning with advice if there are too few files for all calls; undefined otherwise. */
export function fileWarning(limit: number | undefined, needs: FileNeeds): string | undefined {
  const { maxCalls } = shareFiles(limit, needs)
  if (maxCalls === needs.maxCalls) return undefined
  const needed = neededFiles(needs)
  return (
    `this process may open ${limit} files, which is enough for ${maxCalls} concurrent calls instead of ` +
    `${needs.maxCalls}; run "ulimit -n ${needed}" before belfry start (systemd: LimitNOFILE=${needed}, ` +
    `Docker: --ulimit nofile=${needed})`
  )
}

/**
 * The limit of this process; undefined if the system has none. At its start, Node.js raises the soft limit to the hard limit,
 * so the soft limit is also the hard one.
 */
export function openFileLimit(): number | undefined {
  const { report } = process
  // Without this, a report resolves the name of every address of this machine.
  Object.assign(report, { excludeNetwork: true })
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isFinite(soft) ? soft : undefined
}
