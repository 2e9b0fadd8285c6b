/** Errors of attempts that Belfry itself ends, whoever performs them: workers in a node, and those that report over HTTP. */
import type { AttemptError } from './outcome.ts'

/** `timeout` is the task's, as it was given. */
export const timedOut = (timeout: string): AttemptError => ({
  code: 'timed_out',
  message: `The attempt exceeded the task's timeout of ${timeout}.`,
})

/** The attempt is retried: the worker stopped it for reasons of its own. */
export const WORKER_STOPPED: AttemptError = {
  code: 'worker_stopped',
  message: 'The worker was stopped before the attempt ended.',
}

/** Code of an attempt whose output or error could not be stored. */
export const UNSTORABLE_OUTCOME = 'unstorable_outcome'
