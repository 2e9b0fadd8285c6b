/**
 * Shares out the files that this process may have open. Every call is a socket, and so is every connection to the database
 * and to the API: a node that asks for more calls than it has files for would fail at all of them alike.
 */

/** Beside sockets: the program itself, logs, event queues, questions to DNS. */
const OWN_FILES = 100
/** Connections to the API that there is room for in any case. */
const API_FILES = 256
/** Connections that are kept although no call uses them. */
const IDLE_FILES = 1_024
/** Of what is left when there are too few, this part is for calls, the rest for connections kept idle. */
const CALLS_PART = 0.8

/** What a node is asked to have open at once. */
export interface FileNeeds {
  readonly maxCalls: number
  readonly apiConnections: number
  readonly databaseConnections: number
}

/** What it may have open. */
export interface FileShare {
  readonly maxCalls: number
  readonly apiConnections: number
  readonly idleConnections: number
}

/**
 * Calls and connections that are kept idle come first, then connections to the API, of which more are allowed than anybody
 * expects. Where there are too few files even for the calls, the API keeps some and the rest is divided. Without a limit
 * everything is as it was asked for.
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

/** The limit under which nothing that was asked for is lowered but connections to the API. */
export const neededFiles = ({ maxCalls, databaseConnections }: FileNeeds): number =>
  maxCalls + IDLE_FILES + OWN_FILES + API_FILES + databaseConnections

/** In words, with what to do about it; undefined where all calls fit. */
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
 * The limit of this process; undefined where the system has none. Node.js has raised it to the hard limit when it started, on
 * every system that has limits, so only the hard one counts.
 */
export function openFileLimit(): number | undefined {
  const { report } = process
  // Otherwise a report asks DNS for the name of every address of this machine.
  Object.assign(report, { excludeNetwork: true })
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isFinite(soft) ? soft : undefined
}
