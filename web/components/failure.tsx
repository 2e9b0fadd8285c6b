/** Shows a refusal next to the control that caused it. */
import { Button } from '@mantine/core'
import { ApiError } from '../api/client.ts'
import classes from './failure.module.css'

interface FailureProps {
  readonly error: unknown
  readonly onRetry?: () => void
}

/** Shows the server's message with the request id, which can be found in the server's log. */
export function Failure({ error, onRetry }: FailureProps) {
  const problem = error instanceof ApiError ? error.problem : null
  // If there are field problems, the detail only repeats them.
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
