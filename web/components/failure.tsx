/** Refusals, where they happen: beside what was asked for. */
import { Button } from '@mantine/core'
import { ApiError } from '../api/client.ts'
import classes from './failure.module.css'

interface FailureProps {
  readonly error: unknown
  readonly onRetry?: () => void
}

/** What the server said, in its own words, with the request id for whoever reads its log. */
export function Failure({ error, onRetry }: FailureProps) {
  const problem = error instanceof ApiError ? error.problem : null
  // The detail only repeats them.
  const fields = problem?.errors ?? []
  return (
    <div className={classes.failure} role="alert">
      <p className={classes.title}>{problem?.title ?? 'Something went wrong'}</p>
      {fields.length === 0 && (
        <p>{problem?.detail ?? String(error instanceof Error ? error.message : error)}</p>
      )}
      {fields.map(({ pointer, detail }) => (
        <p key={pointer + detail}>
          <code>{pointer}</code> {detail}
        </p>
      ))}
      {problem?.requestId && (
        <p className={classes.small}>
          request <code>{problem.requestId}</code>
        </p>
      )}
      {onRetry && (
        <Button variant="default" size="xs" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}
