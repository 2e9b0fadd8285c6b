/** Shown in place of a screen that failed: what happened, its request id, and what to do. */
import { Button } from '@mantine/core'
import { Link, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { ApiError } from '../api/client.ts'
import classes from './broken.module.css'
import { useLiveState } from './live.ts'

export function NothingHere() {
  return (
    <section className={classes.box}>
      <h1>Page not found</h1>
      <p>The address may be mistyped, or belong to another version of Belfry.</p>
      <p>
        <Link to="/">Overview</Link> · <Link to="/tasks">Tasks</Link>
      </p>
    </section>
  )
}

interface BrokenProps {
  readonly error: unknown
}

export function Broken({ error }: BrokenProps) {
  const router = useRouter()
  const problem = error instanceof ApiError ? error.problem : null
  const isUnfetched = isAboutFiles(error)
  const isLive = useLiveState() === 'live'
  const [wasLive] = useState(isLive)
  // If the screen's files could not be loaded, reload once the server is reachable again.
  useEffect(() => {
    if (isUnfetched && isLive && !wasLive) window.location.reload()
  }, [isUnfetched, isLive, wasLive])
  return (
    <section className={classes.box} role="alert">
      <h1>{problem?.title ?? (isUnfetched ? 'This page could not be loaded' : 'This page crashed')}</h1>
      <p>
        {isUnfetched
          ? 'The server is not responding, or was updated to another version.'
          : (problem?.detail ?? String(error instanceof Error ? error.message : error))}
      </p>
      {problem?.requestId && (
        <p className={classes.small}>
          Request <code>{problem.requestId}</code>, code <code>{problem.code}</code>
        </p>
      )}
      <Button
        variant="default"
        onClick={() => (isUnfetched && isLive ? window.location.reload() : void router.invalidate())}
      >
        Try again
      </Button>
    </section>
  )
}

/** Screens are loaded when first opened; browsers have no specific error for a failed load. */
const isAboutFiles = (error: unknown): boolean =>
  error instanceof Error && /preload CSS|dynamically imported module|module script/i.test(error.message)
