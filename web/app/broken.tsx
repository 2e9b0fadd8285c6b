/** What is shown instead of a screen that cannot be: what happened, its request id, and what to do. */
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { ApiError } from '../api/client.ts'
import classes from './broken.module.css'

export function NothingHere() {
  return (
    <section className={classes.box}>
      <h1>There is nothing at this address</h1>
      <p>It may have been typed wrongly, or belong to another version.</p>
      <p>
        <Link to="/">Overview</Link> · <Link to="/tasks">Tasks</Link>
      </p>
    </section>
  )
}

interface BrokenProps {
  readonly error: unknown
  readonly reset?: () => void
}

export function Broken({ error, reset }: BrokenProps) {
  const problem = error instanceof ApiError ? error.problem : null
  return (
    <section className={classes.box} role="alert">
      <h1>{problem?.title ?? 'This screen failed'}</h1>
      <p>{problem?.detail ?? String(error instanceof Error ? error.message : error)}</p>
      {problem?.requestId && (
        <p className={classes.small}>
          Request <code>{problem.requestId}</code>, code <code>{problem.code}</code>
        </p>
      )}
      {reset && (
        <Button variant="default" onClick={reset}>
          Try again
        </Button>
      )}
    </section>
  )
}
