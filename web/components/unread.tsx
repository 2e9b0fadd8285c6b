import { Link } from '@tanstack/react-router'
import { ApiError } from '../api/client.ts'
import classes from './failure.module.css'
import { Failure } from './failure.tsx'

interface UnreadProps {
  readonly what: 'task' | 'run' | 'file'
  readonly id: string
  readonly error: unknown
  readonly onRetry?: () => void
}

const MAY_BE = {
  task: 'It may have been deleted, or the address may be incomplete.',
  file: 'It may have been deleted, or the address may be incomplete.',
  run: 'It may be older than the kept history, or the address may be incomplete.',
} as const

const NAMES = { task: 'Task', run: 'Run', file: 'File' } as const

/** Shown in place of a task, run or file that does not exist, with the way on, or that could not be read, with the reason. */
export function Unread({ what, id, error, onRetry }: UnreadProps) {
  if (!isUnknown(error)) return <Failure error={error} {...(onRetry ? { onRetry } : {})} />
  return (
    <section className={classes.failure} role="alert">
      <h1>
        {NAMES[what]} {id} not found
      </h1>
      <p>{MAY_BE[what]}</p>
      <p>
        {what === 'file' ? (
          <Link to="/files">All files</Link>
        ) : (
          <>
            <Link to="/tasks">All tasks</Link> · <Link to="/runs">All runs</Link>
          </>
        )}
      </p>
    </section>
  )
}

/** Whether a retry would be pointless. */
function isUnknown(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return error.problem.status === 404 || error.fields.some(({ pointer }) => pointer === '{id}')
}
