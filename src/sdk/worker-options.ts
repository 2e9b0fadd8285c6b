/** What a program that runs a worker provides: handlers, and options. */
import type { HandlerContext } from './attempt.ts'
import type { WorkerLog } from './worker-log.ts'

/** Performs a run. Its return value is stored with the run; an exception fails the attempt. */
export type Handler<Payload = unknown> = (payload: Payload, context: HandlerContext) => unknown

/** Options of a worker. All are optional. */
export interface WorkerOptions {
  /** Address of Belfry's API, or several equivalent addresses. Default: `BELFRY_URL`, else port 3369 on this machine. */
  readonly server?: string | readonly string[]
  /** Certificates of the authority that signed the server's certificate, in PEM form. Default: those of Node.js. */
  readonly ca?: string
  /** API key with the role worker; required once Belfry has any key. Default: `BELFRY_KEY`. */
  readonly key?: string
  /** Maximum number of concurrent runs. Default: 10. */
  readonly concurrency?: number
  /** Labels of this worker, which tasks can require. */
  readonly labels?: readonly string[]
  /** Queues to take runs from. Default: all. */
  readonly queues?: readonly string[]
  /** Name of the worker in lists. Default: host name and process id. */
  readonly name?: string
  /** Version of your program, shown in lists. */
  readonly version?: string
  /** How long runs in progress may go on after `stop`. Default 30 s. */
  readonly graceMs?: number
  /** Receives the worker's own log and the errors of handlers. Default: lines on stderr. */
  readonly log?: WorkerLog
}
